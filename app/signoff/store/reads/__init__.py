"""Reads outside the writer: short transactions on connections of their own."""
