"""Verbs that maintain a repository."""
