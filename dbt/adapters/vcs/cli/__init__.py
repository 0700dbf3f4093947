"""The command `dbt-vcs`, which loads neither dbt, Spark nor Java, so it answers at once."""

from dbt.adapters.vcs.cli.root import main

__all__ = ["main"]
