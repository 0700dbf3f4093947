"""How the models of the tests are spelled."""

from __future__ import annotations


def config(**settings: object) -> str:
    """Return a config call."""
    given = ", ".join(f"{key}={value!r}" for key, value in settings.items())
    return "{{ config(" + given + ") }}\n"


TABLE = config(materialized="table")
VIEW = config(materialized="view")


def incremental(strategy: str, first: str, later: str, **settings: object) -> str:
    """Return an incremental model with one query for the first run and one for later runs."""
    return (
        config(materialized="incremental", incremental_strategy=strategy, **settings)
        + "{% if is_incremental() %}"
        + later
        + "{% else %}"
        + first
        + "{% endif %}"
    )
