"""Changes of a table's rows: diff and three-way merge with Arrow, in this process."""
