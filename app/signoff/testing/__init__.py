"""For people who keep definitions in a repository: clock, fakes, given/when/then. Grows with the whole engine."""
