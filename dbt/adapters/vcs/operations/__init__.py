"""dbt's run-operations: verbs by name with arguments by name."""
