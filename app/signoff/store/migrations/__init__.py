"""Alembic migrations. A released one is never edited."""
