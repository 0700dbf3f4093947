"""Decisions: what was chosen by hand for the conflicts of one relation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from dbt.adapters.vcs.core.errors import ConflictError
from dbt.adapters.vcs.core.model import Field
from dbt.adapters.vcs.core.model.tree import RelationName
from dbt.adapters.vcs.workspace.openmerges import Choice

Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Decisions:
    """Choices for one relation.

    Attributes:
        whole: For the relation as one thing, or None.
        rows: For rows, by the values of the key's columns, or of all columns without a key.
    """

    whole: Choice | None = None
    rows: tuple[tuple[Key, Choice], ...] = ()


def decided_rows(
    name: RelationName, conflicts: pa.Table, key: tuple[Field, ...]
) -> tuple[tuple[Key, Choice], ...]:
    """Return what was chosen for the rows of a conflict table.

    Args:
        name: The relation, for messages.
        conflicts: Its conflict table, with the column `resolution`.
        key: The key's columns; all columns without a key.

    Raises:
        ConflictError: Nothing was chosen yet for some rows.
    """
    words = conflicts.column("resolution").to_pylist()
    open_ = sum(word is None for word in words)
    if open_:
        raise ConflictError(
            f"{open_} of {len(words)} conflicts of {name} are not resolved yet. Choose for them: "
            f"dbt-vcs resolve {name} --with ours|theirs|base|delete [--key column=value]"
        )
    columns = [
        [_first(values) for values in zip(*_sides(conflicts, item.name), strict=True)]
        for item in key
    ]
    keys = zip(*columns, strict=True) if columns else ()
    return tuple((key, Choice(word)) for key, word in zip(keys, words, strict=True))


def _sides(conflicts: pa.Table, column: str) -> list[list[Any]]:
    return [conflicts.column(f"{side}_{column}").to_pylist() for side in ("base", "our", "their")]


def _first(values: tuple[Any, ...]) -> Any:
    """Return the value of the first side that has the row: they agree, or are NULL."""
    return next((value for value in values if value is not None), None)
