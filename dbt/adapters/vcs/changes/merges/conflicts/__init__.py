"""Conflicts of merges, kept until somebody decides them."""
