"""Changes of tables: differences, merges, and writes."""
