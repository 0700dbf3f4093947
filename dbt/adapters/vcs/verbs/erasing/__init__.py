"""Erasing rows from all versions of a table."""
