"""Objects and refs on a blob store."""
