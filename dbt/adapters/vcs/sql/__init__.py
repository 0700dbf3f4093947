"""Parses SQL text that reads or changes a branch into frozen statements."""
