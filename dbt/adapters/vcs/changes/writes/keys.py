"""Primary keys: their columns, and the check that no row lacks or repeats a key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.model import (
    Block,
    Field,
    RelationName,
    Schema,
    Snapshot,
)
from dbt.adapters.vcs.core.model.data_type import type_of
from dbt.adapters.vcs.core.plan.delta import delta
from dbt.adapters.vcs.core.plan.states import can_meet, hull
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.engines.port import Readers, VersionReader, told_rows
from dbt.adapters.vcs.sql.syntax.conditions import where_clause
from dbt.adapters.vcs.sql.syntax.names import names_in
from dbt.adapters.vcs.table.equality import canonical
from dbt.adapters.vcs.table.files.block_reader import Files
from dbt.adapters.vcs.table.key_check import SHOWN, Clashes, find_clashes
from dbt.adapters.vcs.table.limits import TooLargeError, in_process_first
from dbt.adapters.vcs.table.python_values import FarMoment
from dbt.adapters.vcs.table.quoting import quoted
from dbt.adapters.vcs.workspace.table_version import Version

PRIMARY_KEY: Final = "primary_key"
"""Table property: the columns of the primary key, separated by commas."""

UNIQUE_KEY: Final = "vcs.unique_key"
"""Table property: columns of a model's `unique_key`; the key as long as its values are unique."""

_MOST_NEW: Final = 5_000_000
_MOST_OLD: Final = 20_000_000
_MOST_PAIRS: Final = 1_000_000


def key_columns(schema: Schema, names: Sequence[str]) -> tuple[str, ...]:
    """Return the field ids of the columns of a new primary key.

    Raises:
        InputError: There is no such column, one occurs twice, or its values can't be compared.
    """
    fields = [schema.field(name) for name in names]
    for field in fields:
        if type_of(field.type).is_nested:
            raise InputError(
                f"The column {field.name} can't be in a primary key: values of type {field.type} "
                "can't be compared. Use columns of plain types, such as a hash of this one."
            )
    ids = [field.id for field in fields]
    if len(set(ids)) < len(ids):
        raise InputError(f"A primary key has each column once; found: {', '.join(names)}.")
    return tuple(ids)


def settled_key(schema: Schema, declared: Sequence[str], properties: dict[str, str]) -> list[str]:
    """Return the names of the key's columns: the declared ones, else those of dbt's `unique_key`.

    A `unique_key` that is an expression, or names no column, makes no key.
    """
    if declared:
        return list(declared)
    names = dict.fromkeys(names_in(properties.get(UNIQUE_KEY, "")))
    fields = [schema.find(name) for name in names]
    if all(field is not None and not type_of(field.type).is_nested for field in fields):
        return list(names)
    return []


def check_keys(
    repository: Repository,
    name: RelationName,
    version: Snapshot,
    before: Snapshot | None,
    sessions: Readers,
    warnings: list[str],
) -> tuple[str, ...]:
    """Check that no new row of a version lacks a primary key or repeats one.

    `versions.changed` calls this for every new version of a table, so its callers (insert, update,
    merge, ...) need not. New rows are those of blocks that `before` lacks and of blocks from which
    a deletion is undone; the output of a compaction is not new. Rows deleted by the version's
    tombstones don't count. The cost depends on the new rows and on the old blocks whose key ranges
    overlap theirs. Only key columns are read, in process; beyond some million rows, or if Arrow
    lacks a type, the engine does it.

    Args:
        repository: The repository.
        name: What errors call the table.
        version: The new version, not yet stored.
        before: The version that it follows; None to check every row, as when the key is new.
        sessions: Provides the engine's session.
        warnings: Gets a warning if the key is given up.

    Returns:
        The version's primary key: empty, with a warning, if it was dbt's `unique_key` and the rows
        violate it, which dbt allows.

    Raises:
        InputError: Keys are NULL or not unique; up to five are named.
    """
    if not version.is_key_enforced:
        return version.primary_key
    error = broken_key(repository, name, version, before, sessions)
    if not error:
        return version.primary_key
    if is_dbts_key(version):
        warnings.append(
            f"{error} So the config unique_key is not the primary key of {name}: diffs "
            "and merges compare whole rows."
        )
        return ()
    raise InputError(
        f"{error} Nothing was changed; correct the rows, or turn the check off: "
        "enforce_primary_key: false."
    )


def is_dbts_key(version: Snapshot) -> bool:
    """Return whether the primary key is dbt's `unique_key`, which rows may violate."""
    return PRIMARY_KEY not in version.properties and UNIQUE_KEY in version.properties


def broken_key(
    repository: Repository,
    name: RelationName,
    version: Snapshot,
    before: Snapshot | None,
    sessions: Readers | None,
) -> str:
    """Return which rows of a version, new since another, lack or repeat a key; empty for none.

    Raises:
        TooLargeError: There are too many rows for this process, and there is no engine.
        UnsupportedError: Arrow lacks the type of a key column, and there is no engine.
    """
    fields = version.key
    check = _Check(repository, version, before)
    if not check.new:
        return ""
    if sessions is None:
        clashes = check.in_process(fields)
    else:
        clashes = in_process_first(
            lambda: check.in_process(fields), lambda: check.by_engine(sessions(), fields)
        )
    return _error(name, fields, clashes) if any(clashes) else ""


def may_clash(repository: Repository, version: Snapshot, before: Snapshot) -> bool:
    """Return, without an engine, whether a version's new rows may lack or repeat a primary key.

    Also true if there are too many rows to check.
    """
    if not version.is_key_enforced:
        return False
    fields = version.key
    check = _Check(repository, version, before)
    if not check.new:
        return False
    return in_process_first(lambda: any(check.in_process(fields)), lambda: True)


class _Check:
    """One check, with the blocks of a version that it covers."""

    def __init__(self, repository: Repository, version: Snapshot, before: Snapshot | None) -> None:
        self._repository = repository
        self._version = Version.of(repository, version)
        change = delta(before, version, self._version.read)
        # A row whose deletion is undone may meet another one that has got its key since.
        fresh = {block.path for block in change.added} | {item.block for item in change.restored}
        # All segments are read for the list of blocks, so not without need.
        blocks = self._version.blocks if fresh else ()
        self.new = [block for block in blocks if block.path in fresh]
        self._others = [block for block in blocks if block.path not in fresh]

    def in_process(self, fields: Sequence[Field]) -> Clashes:
        """Return the bad keys.

        Raises:
            TooLargeError: There are too many rows to check in this process.
            UnsupportedError: Arrow lacks the type of a column.
        """
        old = _near(self.new, self._others, fields)
        new_rows, old_rows = _rows(self.new), _rows(old)
        if new_rows > _MOST_NEW or old_rows > _MOST_OLD:
            raise TooLargeError(
                f"The keys of at most {_MOST_NEW:,} new rows are compared with those of "
                f"{_MOST_OLD:,} old ones without Spark; these are {new_rows:,} and {old_rows:,}. "
                "Use a connection that has Spark."
            )
        files = Files(self._repository.blobs)
        paths = [block.path for block in (*self.new, *old)]
        deleted = files.deletions(self._version.tombstones, paths)
        return find_clashes(files, fields, self.new, old, deleted)

    def by_engine(self, session: VersionReader, fields: Sequence[Field]) -> Clashes:
        """Return the bad keys, found by the engine."""
        keys = ", ".join(quoted(field.id) for field in fields)
        values = ", ".join(
            # Decision 18: keys are equal byte by byte, whatever their collation.
            f"{canonical(quoted(field.id), field.type)} as {quoted(field.id)}"
            for field in fields
        )
        new = f"select {values}, 1 as __vcs_new from {self._mounted(session, self.new, fields)}"
        is_null = " or ".join(f"{quoted(field.id)} is null" for field in fields)
        # Manifests count NULLs, so most checks need no query for them.
        if any(_nulls(block, field) for block in self.new for field in fields):
            found = _fetch(session, f"select distinct {keys} from ({new}) {where_clause(is_null)}")
            if found:
                return Clashes(null=found)
        both = new
        old = _near(self.new, self._others, fields)
        if old:
            both += f" union all select {values}, 0 from {self._mounted(session, old, fields)}"
        counted = f"from ({both}) group by {keys} having count(*) > 1 and sum(__vcs_new) "
        repeated = _fetch(session, f"select {keys} {counted} > 1")
        return (
            Clashes(repeated=repeated)
            if repeated
            else Clashes(present=_fetch(session, f"select {keys} {counted} = 1") if old else ())
        )

    def _mounted(
        self, session: VersionReader, blocks: Sequence[Block], fields: Sequence[Field]
    ) -> str:
        return session.mount_physical(self._version.mount(blocks, fields=fields))


def _fetch(session: VersionReader, query: str) -> tuple[tuple[Any, ...], ...]:
    return tuple(told_rows(session.query(f"{query} limit {SHOWN}")))


def _rows(blocks: Sequence[Block]) -> int:
    return sum(block.rows for block in blocks)


def _nulls(block: Block, field: Field) -> bool:
    stats = block.stats.get(field.id)
    return stats is None or stats.nulls != 0


def _near(new: Sequence[Block], old: Sequence[Block], fields: Sequence[Field]) -> list[Block]:
    """Return the old blocks whose key ranges overlap those of a new one."""
    ranges = [block.stats for block in new]
    if len(new) * len(old) > _MOST_PAIRS:
        # Each pair costs a comparison of bounds; of very many, the new blocks count as one range.
        ranges = [dict(hull(ranges, fields))]
    return [
        block for block in old if any(can_meet(block.stats, other, fields) for other in ranges)
    ]


def _error(name: RelationName, fields: Sequence[Field], clashes: Clashes) -> str:
    key = ", ".join(field.name for field in fields)
    if clashes.null:
        return f"NULL in the primary key ({key}) of {name}: {_listed(clashes.null)}."
    if clashes.repeated:
        return (
            f"Several of the rows written to {name} have the same primary key ({key}): "
            f"{_listed(clashes.repeated)}."
        )
    return (
        f"Rows written to {name} have a primary key ({key}) that other rows already have: "
        f"{_listed(clashes.present)}."
    )


def _listed(keys: Sequence[tuple[Any, ...]]) -> str:
    texts = []
    for key in keys:
        values = [shown(value) for value in key]
        texts.append(values[0] if len(values) == 1 else f"({', '.join(values)})")
    return ", ".join(texts)


def shown(value: Any) -> str:
    """Return a value as errors show it, shortened."""
    if value is None:
        return "NULL"
    # A moment that Python can't hold comes as text, and is shown as the moment that it is.
    is_text = isinstance(value, str | bytes) and not isinstance(value, FarMoment)
    text = repr(value) if is_text else str(value)
    return text if len(text) <= 80 else text[:77] + "..."
