"""Verbs that change a branch."""
