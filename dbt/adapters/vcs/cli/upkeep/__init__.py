"""Commands that maintain a repository."""
