"""The checks that `validate` runs, one file per part of a definition."""
