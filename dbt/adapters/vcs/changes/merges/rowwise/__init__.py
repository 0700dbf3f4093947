"""Three-way merge of a table's rows."""
