"""A view: one immutable version of a query that stands for a relation."""

from __future__ import annotations

from dbt.adapters.vcs.core.model.value import Value


class ViewColumn(Value, frozen=True, kw_only=True):
    """One column of a view: its name and type when the view was made, and its comment."""

    name: str
    type: str
    comment: str | None = None


class View(Value, frozen=True, kw_only=True):
    """One version of a view.

    Attributes:
        text: The query, every relation in it with its schema.
        columns: What it showed when it was made, and goes on showing.
        aliased: True if `columns` rename the query's columns by position; else they are the
            query's own, by name.
        reads: `schema.relation` of every relation that the query names, sorted.
        calls: `schema.function` of every function of the branch that it calls, sorted.
        comment: Free text, or None.
        properties: View properties.
    """

    text: str
    columns: tuple[ViewColumn, ...]
    aliased: bool = False
    reads: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    comment: str | None = None
    properties: dict[str, str] = {}
