"""dbt-vcs: version control for the tables that dbt builds on Spark."""
