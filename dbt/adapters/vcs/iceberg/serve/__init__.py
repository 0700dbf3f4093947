"""An Iceberg REST catalog over a repository: `dbt-vcs serve`."""
