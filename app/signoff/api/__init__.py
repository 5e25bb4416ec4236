"""REST for programs: the same actions, permissions and sentences as the pages. Parses, asks, translates errors."""
