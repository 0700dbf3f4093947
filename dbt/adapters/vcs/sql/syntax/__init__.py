"""Shared syntax: tokens, names, literals, relations, and their places in a text."""
