"""Commands that name versions."""
