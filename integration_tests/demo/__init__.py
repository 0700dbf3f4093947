"""The demo: one change to a dbt project, from branch to main, on real data."""
