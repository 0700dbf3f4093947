"""Differences between versions of a table, and between commits."""
