"""Diff inputs: the versions to compare, the shape of the result, and what a query reads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa

from dbt.adapters.vcs.changes.diffs.difference import Difference
from dbt.adapters.vcs.changes.diffs.three_way import ThreeWay
from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.model import Input
from dbt.adapters.vcs.engines.port import Queries, VersionMounts, VersionReader
from dbt.adapters.vcs.sql.syntax.conditions import check_condition, where_clause
from dbt.adapters.vcs.sql.syntax.diff_call import DiffReference, DiffShape, TwoWayShape
from dbt.adapters.vcs.table.limits import LIMITS, Limits, in_process_first
from dbt.adapters.vcs.workspace.overlay import Overlay
from dbt.adapters.vcs.workspace.points import (
    Point,
    TableText,
    find_points,
    without_merge_base,
)

_ZONE: Final = "spark.sql.session.timeZone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shaped:
    """A difference in a requested shape.

    Attributes:
        two: The two versions, compared with each other.
        shape: The shape of the rows.
        three: The two versions compared with their base, if the shape is `three_way`.
        inputs: The versions to record as inputs of a query that reads it.
    """

    two: Difference
    shape: DiffShape
    three: ThreeWay | None
    inputs: tuple[Input, ...]

    def showing(self, names: frozenset[str] | None) -> Shaped:
        """Return the same for a reader of some columns only, by lower-case name; None for all."""
        if names is None:
            return self
        prefixes = ("", "from_", "to_")
        shown = {name.removeprefix(prefix) for name in names for prefix in prefixes}
        return replace(self, two=replace(self.two, shown=frozenset(shown)))

    def table(self, *, limits: Limits = LIMITS) -> pa.Table:
        """Compare in this process; raises what `Difference.table` and `ThreeWay.table` raise."""
        if self.three is not None:
            return self.three.table(limits=limits)
        return self.two.table(self._two_way, limits=limits)

    def by_engine(self, session: VersionMounts) -> str:
        """Return the query that compares the rows."""
        if self.three is not None:
            return self.three.by_engine(session)
        return self.two.by_engine(session, self._two_way)

    def rows(self, sessions: Callable[[], VersionMounts]) -> pa.Table | str:
        """Return the rows if they can be compared in this process, else a query for the engine."""
        return in_process_first(self.table, lambda: self.by_engine(sessions()))

    def relation(
        self,
        session: VersionMounts,
        rows: pa.Table | str | None = None,
        *,
        name: str | None = None,
    ) -> str:
        """Return SQL for a relation with the rows, to put after `from`.

        Args:
            session: The session that reads it.
            rows: The result of `rows`, if it was called already.
            name: As `Difference.relation` takes it.
        """
        if self.three is not None:
            rows = self.rows(lambda: session) if rows is None else rows
            return self.three.mounted(session, rows, name=name)
        if rows is None:
            return self.two.relation(session, self._two_way, name=name)
        return self.two.mounted(session, rows, self._two_way, name=name)

    @property
    def _two_way(self) -> TwoWayShape:
        assert self.shape != "three_way"
        return self.shape


def find_difference(
    overlay: Overlay,
    before: TableText | None,
    after: TableText,
    columns: tuple[str, ...],
    shape: DiffShape,
    zone: Callable[[], str],
) -> Shaped:
    """Return the difference of two versions, seen from a branch; None is a table without rows.

    A three-way difference finds the base itself: there `s.t@main...` means main's version.

    Raises:
        NotFoundError: There is no such table or version; the message names near matches.
        InputError: One is a view; or, in a three-way difference, one doesn't exist or there is no
            common base.
    """
    if shape == "three_way" and before is not None:
        before, after = without_merge_base(before), without_merge_base(after)
    points = find_points(overlay, before, after, zone)
    return shaped_of(overlay, points, columns, shape)


def shaped_of(
    overlay: Overlay, points: tuple[Point, Point], columns: tuple[str, ...], shape: DiffShape
) -> Shaped:
    """Return the difference of two versions that were found."""
    old, new = points
    three = None
    if shape == "three_way":
        three = ThreeWay.of(overlay.repository, old.id, new.id, columns)
    two = Difference(
        repository=overlay.repository,
        before=old.snapshot(overlay),
        after=new.snapshot(overlay),
        columns=columns,
    )
    inputs = tuple(read for point in points if (read := point.input()))
    return Shaped(two=two, shape=shape, three=three, inputs=inputs)


def diff_in_view(
    overlay: Overlay, session: VersionReader, item: DiffReference
) -> tuple[str, tuple[Input, ...]]:
    """Return the relation for a difference in a view's text, and the versions it compares.

    All sessions read a view, so nothing it reads may belong to a single session.

    Raises:
        InputError: A table is named without its schema, or as for any difference.
    """
    check_in_view(item)
    old, new = (
        side and TableText(side.name.relation(""), side.at) for side in (item.before, item.after)
    )
    assert new is not None
    found = find_difference(overlay, old, new, item.columns, item.shape, lambda: zone_of(session))
    text = filtered(f"({found.by_engine(session)})", item.where)
    return text, found.inputs


def check_in_view(item: DiffReference) -> None:
    """Check that a difference in a view means the same in every schema and is for no table.

    Raises:
        InputError: A table is named without its schema, or the difference is for a table.
    """
    if item.reader is not None:
        raise InputError(
            f"Expected snapshot_diff(...) without a reader in a view, found reader => "
            f"'{item.reader}'. A view is not built, so it consumes nothing: leave it out."
        )
    for side in (item.before, item.after):
        name = None if side is None else side.name
        if name is not None and name.schema is None:
            raise InputError(
                f"Expected snapshot_diff('schema.table...', ...) in a view, found '{name}' "
                "without a schema. Write it: a view may be read from any schema."
            )


def filtered(relation: str, where: str | None) -> str:
    """Return SQL for the rows of a relation that meet a condition; all rows without one.

    Raises:
        InputError: The condition is not a valid condition.
    """
    if where is None:
        return relation
    check_condition(where, "The condition of a difference")
    return f"(select * from {relation} {where_clause(where)})"


def zone_of(session: Queries) -> str:
    """Return the time zone for times without one."""
    return session.setting(_ZONE) or "UTC"
