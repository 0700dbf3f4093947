"""Handlers that carry out statements, one family per module."""
