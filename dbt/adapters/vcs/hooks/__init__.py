"""What is told to others when branches moved: hooks of `vcs.yml`, OpenLineage."""
