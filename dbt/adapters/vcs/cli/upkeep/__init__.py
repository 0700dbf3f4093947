"""Commands that look after a repository."""
