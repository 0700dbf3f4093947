"""Commands that change a branch."""
