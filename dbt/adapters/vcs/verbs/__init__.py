"""What a person does with a repository: plain functions that return frozen values."""

from dbt.adapters.vcs.verbs.operation import run_verb

__all__ = ["run_verb"]
