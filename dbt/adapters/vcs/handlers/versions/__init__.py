"""Statements about versions, carried out."""
