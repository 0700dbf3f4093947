"""Statements as frozen values, one family per module."""
