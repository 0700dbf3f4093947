"""Statements carried out, one family a module."""
