"""The `signoff` command: parse, ask the engine, print. No logic another face would need."""
