"""What dbt builds in ways of its own: seeds and Python models, and the steps of all nodes."""
