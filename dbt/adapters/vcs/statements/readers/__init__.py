"""Readers of one family of statements each; they turn tokens into values."""
