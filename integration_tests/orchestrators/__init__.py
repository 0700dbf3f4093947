"""Schedulers that call dbt once for each node, and what a shared run makes of it."""
