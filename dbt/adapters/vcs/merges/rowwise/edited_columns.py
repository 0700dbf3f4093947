"""Which columns, of those that one side of a merge dropped, the other side changed values in.

An update of a column that is gone would vanish without a word. With a key, which may be one that
only one side declares, a value is changed if a row with the same key has another one. Without a
key an update can't be told from a deletion beside an insertion, unless all that it changed is the
column: then fewer rows differ without the column than with it.

If the side that dropped a column has another one of its name, as after a rebuild with another
type, new rows count as well: they would be NULL there, although they were given a value.
"""

from __future__ import annotations

import msgspec

from dbt.adapters.vcs.core.model import Field, Snapshot
from dbt.adapters.vcs.core.plan.schema_merge import Side
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.diffs.difference import Difference
from dbt.adapters.vcs.engines.port import Rewriters
from dbt.adapters.vcs.rows.compare.row_counts import Counts
from dbt.adapters.vcs.rows.limits import Limits, in_process_first


def edited_columns(
    repository: Repository,
    base: Snapshot | None,
    ours: Snapshot,
    theirs: Snapshot,
    *,
    prefer: Side | None,
    limits: Limits,
    sessions: Rewriters | None,
) -> frozenset[str]:
    """Return the ids of columns that one side dropped and in which the other changed values.

    Reads the rows that a side changed, and only if the other dropped a column that it has. Nothing
    is asked of a column that the preferred side dropped: it is dropped, edited or not.

    Raises:
        TooLargeError: There are too many rows to compare, and there is no engine.
        UnsupportedError: Arrow can't read a column, and there is no engine.
    """
    found: set[str] = set()
    decided = {"ours": ours, "theirs": theirs, None: None}[prefer]
    for side, other in ((ours, theirs), (theirs, ours)):
        if base is None or other is decided or side.segments == base.segments:
            continue
        for field in base.schema.fields:
            kept = side.schema.by_id(field.id)
            if kept is None or other.schema.by_id(field.id) is not None:
                continue
            new = other.schema.find(kept.name)
            is_replaced = new is not None and base.schema.by_id(new.id) is None
            if is_replaced and _has_new_rows(repository, base, side, limits, sessions):
                found.add(field.id)
                continue
            keys = [version.primary_key for version in (side, other, base)]
            key = next(filter(None, keys), ())
            if _is_edited(repository, _by(key, base), _by(key, side), kept, limits, sessions):
                found.add(field.id)
    return frozenset(found)


def _has_new_rows(
    repository: Repository,
    base: Snapshot,
    side: Snapshot,
    limits: Limits,
    sessions: Rewriters | None,
) -> bool:
    compared = Difference(repository=repository, before=base, after=side)
    return _counts(compared, limits, sessions).added > 0


def _by(key: tuple[str, ...], version: Snapshot) -> Snapshot:
    """Return a version whose rows are paired by a key, if it has its columns."""
    has_all = all(version.schema.by_id(id) for id in key)
    return msgspec.structs.replace(version, primary_key=key if has_all else ())


def _is_edited(
    repository: Repository,
    base: Snapshot,
    side: Snapshot,
    column: Field,
    limits: Limits,
    sessions: Rewriters | None,
) -> bool:
    def counts(*names: str) -> Counts:
        compared = Difference(repository=repository, before=base, after=side, columns=names)
        return _counts(compared, limits, sessions)

    if side.primary_key and side.primary_key == base.primary_key:
        if column.id in side.primary_key:
            return False
        if counts(column.name).modified > 0:
            return True
    # Rows whose key is not unique aren't paired by it.
    side, base = _by((), side), _by((), base)
    rest = [field.name for field in side.schema.fields if field.id != column.id]
    return bool(rest) and counts(*rest).added < counts().added


def _counts(compared: Difference, limits: Limits, sessions: Rewriters | None) -> Counts:
    if sessions is None:
        return compared.counts(limits=limits)
    return in_process_first(
        lambda: compared.counts(limits=limits), lambda: compared.counts_by_engine(sessions())
    )
