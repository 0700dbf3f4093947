"""dbt's side: the invocation, its run, its documents."""
