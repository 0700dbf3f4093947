"""Verbs that look after a repository."""
