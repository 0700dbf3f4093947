"""Handlers of statements about versions."""
