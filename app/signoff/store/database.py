"""The type of an opened database, for rooms that pass one on without knowing SQL."""

from sqlalchemy import Engine as Database

__all__ = ["Database"]
