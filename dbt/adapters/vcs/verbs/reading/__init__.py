"""Verbs that read history."""
