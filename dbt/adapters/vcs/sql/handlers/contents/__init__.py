"""Handlers of statements that read or change rows."""
