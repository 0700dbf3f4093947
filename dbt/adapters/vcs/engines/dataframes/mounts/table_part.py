"""A part of a version: the files of one layout, as a table."""

from __future__ import annotations

from typing import Final, NamedTuple

from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.engines.dataframes.mounts.deletions import (
    POSITION_FIELD,
    file_of,
    position_of,
)
from dbt.adapters.vcs.engines.dataframes.mounts.layouts import Layout
from dbt.adapters.vcs.table.file_numbers import FileNumbers
from dbt.adapters.vcs.table.quoting import literal

MAX_NAMED: Final = 200
"""Up to so many files are told apart by the number of their first row, others by their path."""


class Part(NamedTuple):
    """The files of one layout, as a table.

    With the numbers of its rows it has the column of their positions, too.

    Attributes:
        name: The table's name.
        layout: The layout.
        files: The files.
        numbers: The numbers of their rows; None if they have none.
        first: SQL for the number of the first row of a file.
        place: Without numbers, SQL for the place of a row's file in `files`; None if the table
            doesn't know it.
    """

    name: RelationName
    layout: Layout
    files: tuple[str, ...]
    numbers: FileNumbers | None
    first: str
    place: str | None = None

    @property
    def position(self) -> str:
        """SQL for the position of a row of the table `kept` in its file."""
        # Spark's reader fills one column of positions, so both can't be asked for.
        return position_of("kept") if self.numbers is None else f"kept.{POSITION_FIELD.id}"

    @property
    def number(self) -> str:
        """SQL for the number of a row of the table `kept`."""
        return self.position if len(self.files) == 1 else f"({self.first} + {self.position})"

    @property
    def file(self) -> str:
        """SQL for the path of the file of a row of the table `kept`, below the repository."""
        if len(self.files) == 1:
            return literal(self.files[0])
        known = self.place if self.numbers is None else self.first
        if known is None or len(self.files) > MAX_NAMED:
            return file_of(self.files, "kept")
        if self.numbers is None:
            # Taking it from the path would search and copy a text for each row.
            return f"array({', '.join(map(literal, self.files))})[cast({known} as int)]"
        paths = (f"{number}L, {literal(path)}" for path, number in self.numbers.first.items())
        return f"element_at(map({', '.join(paths)}), {self.first})"
