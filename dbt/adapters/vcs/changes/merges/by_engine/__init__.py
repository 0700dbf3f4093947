"""Three-way merge of a table's rows of any number, computed by an engine."""
