"""Pieces of pages that draw rows and emit events; none of them calls the engine or knows the session."""
