"""Handlers of statements that define relations, functions and schemas."""
