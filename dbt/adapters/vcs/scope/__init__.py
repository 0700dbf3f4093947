"""The context that a statement is carried out in."""
