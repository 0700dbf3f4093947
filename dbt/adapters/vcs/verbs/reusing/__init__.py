"""Lists, counts, explains and drops remembered results."""
