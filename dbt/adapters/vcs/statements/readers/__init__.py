"""Readers that turn tokens into statements, one family per module."""
