"""The dbt side: the invocation, its run, its documents."""
