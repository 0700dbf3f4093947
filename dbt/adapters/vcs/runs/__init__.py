"""Branches of dbt runs, and what their tests found."""
