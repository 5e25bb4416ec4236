"""Signoff: durable workflows with human sign-off."""

__version__ = "0.1.0"
