"""Statements that define relations, functions and schemas, carried out."""
