"""What a statement works with: a branch with pending changes, run branches, names in scope."""
