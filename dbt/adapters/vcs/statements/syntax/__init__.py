"""What every statement is written in: tokens, names, literals, relations, and where they stand."""
