"""Gathers facts, calls the core, writes one transaction. Layer 3."""
