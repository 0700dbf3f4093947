"""Commands that change nothing in a repository, and something on this machine."""
