"""One module per kind of thing."""
