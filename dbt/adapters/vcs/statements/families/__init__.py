"""Statements as frozen values, one family a module."""
