"""The command `dbt-vcs`: no dbt, no Spark and no Java, so it answers at once."""

from dbt.adapters.vcs.cli.root import main

__all__ = ["main"]
