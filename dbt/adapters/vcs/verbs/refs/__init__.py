"""Verbs that name versions."""
