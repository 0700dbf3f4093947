"""Rows that statements write, and what every write is held to."""
