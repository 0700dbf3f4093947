"""Handlers of catalog statements, answered from the branch."""
