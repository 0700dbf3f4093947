"""Statements that change rows, carried out."""
