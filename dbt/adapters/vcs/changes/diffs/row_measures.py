"""Measures the rows that differ between two versions of a table, with DuckDB in this process.

The rows that differ are compared once, and mounted as one relation: `n` (their number), `how`
(a place in `HOW`), and for each column `b<place>` and `a<place>`, its values before and after.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timezone
from decimal import Decimal
from itertools import chain
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from dbt.adapters.vcs.changes.diffs.difference import Difference, TableDiff
from dbt.adapters.vcs.changes.diffs.row_facts import (
    MASK,
    MAX_TEXT,
    QUANTILES,
    ChangedRow,
    ColumnFacts,
    ColumnFigures,
    ColumnKind,
    MovedGroup,
    RowChangeKind,
    RowFacts,
    Secrets,
)
from dbt.adapters.vcs.core.model import Field, Snapshot
from dbt.adapters.vcs.core.model.data_type import FLOATS, INSTANTS, INTEGERS, TEXTS, type_of
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.engines.local_session import LocalSession
from dbt.adapters.vcs.table.compare.comparison import Counts
from dbt.adapters.vcs.table.equality import canonical, differs
from dbt.adapters.vcs.table.files.block_reader import is_readable
from dbt.adapters.vcs.table.limits import Limits
from dbt.adapters.vcs.table.python_values import FarMoment
from dbt.adapters.vcs.table.quoting import quoted
from dbt.adapters.vcs.workspace.table_version import Version

HOW: Final[tuple[RowChangeKind, ...]] = ("modified", "added", "removed", "rekeyed")

MEASURED: Final = Limits(rows=2_500_000, bytes=128 * 2**20, memory=3 * 2**29)
"""The most changed rows of one table that are measured: these take less than 1 GiB in all."""

_GROUPS: Final = 10
_GROUPS_OF_COLUMN: Final = 3
_LEAST_SHARE: Final = 0.1
_ALIKE: Final = 3
"""Rows that changed in the same way and are shown before one that changed in another way."""

# A column in which nearly every row has a value of its own has no groups.
_FEW_VALUES: Final = 50
_ROWS_OF_VALUE: Final = 4

# Bytes that a page takes for a cell besides its text.
_CELL: Final = 4

# Beyond this no standard deviation can be computed.
_FINITE: Final = "1e100"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What to measure.

    Attributes:
        bytes: Bytes of all rows, as texts, at most.
        rows: How many of all rows at most; None for as many as fit.
        whole: Whether to read both versions as a whole, for figures of the table.
        why_not: The note of each column if they are not read.
    """

    sample: int = 20
    bytes: int = 200_000
    rows: int | None = None
    whole: bool = True
    why_not: str = ""


class _Shown(NamedTuple):
    """A column that is shown: its place in the mounted relation."""

    place: int
    field: Field
    kind: ColumnKind
    is_key: bool
    is_masked: bool

    @property
    def is_number(self) -> bool:
        return self.kind == "number" and not self.is_masked

    @property
    def has_order(self) -> bool:
        return self.kind in ("number", "time") and not self.is_masked


def row_facts(
    difference: Difference, session: LocalSession, secrets: Secrets, wishes: Wishes
) -> tuple[Counts, RowFacts]:
    """Return how many rows differ between two versions, and what is known of them.

    Files that both versions have are read only if the wishes are for figures of the whole table.

    Raises:
        InputError: Neither version is given.
        UnsupportedError: Arrow can't read or compare a column, or more rows differ than `MEASURED`
            allows.
        EngineError: Memory or disk is exhausted.
    """
    MEASURED.check(difference.pieces)
    found = difference.in_process()
    shown = _shown(found, secrets)
    if not len(found.net.before) or not shown:
        return found.counts, RowFacts()
    rows, rekeyed = _changes(found, session)
    session.mount_arrow(_ROWS, rows)
    facts, distinct = _column_facts(session, shown)
    measured = tuple(_with_whole(difference, session, shown, facts, wishes))
    ordered = sorted(shown, key=lambda item: not item.is_key)
    # The key that is shown may be a part of the table's: of that alone the heads tell.
    key = sum(item.is_key for item in ordered)
    listed = _all_rows(session, rows, ordered, wishes)
    return found.counts, RowFacts(
        columns=measured,
        heads=tuple(item.field.name for item in ordered),
        key=key,
        groups=_groups(session, shown, distinct, rows.num_rows),
        sample=_sample(session, rows, ordered, wishes.sample),
        rows=listed,
        is_complete=len(listed) == rows.num_rows,
        rekeyed=rekeyed,
    )


_ROWS: Final = "__vcs_review_rows"
_SOME: Final = "__vcs_review_some"
_WHOLE: Final = "__vcs_review_whole"


def version_figures(
    repository: Repository, session: LocalSession, snapshot: Snapshot, *, whole: bool
) -> list[ColumnFigures | None]:
    """Return the figures of each column of one version, in its order.

    Without `whole`, no row is read, and figures are what manifests know. None for a column of a
    type that Arrow can't read.

    Raises:
        EngineError: Memory or disk is exhausted.
    """
    shown = [
        _Shown(place, field, kind_of(field.type), is_key=False, is_masked=not is_readable(field))
        for place, field in enumerate(snapshot.schema.fields)
    ]
    return _whole_figures(repository, session, snapshot, shown, Wishes(whole=whole))


def _shown(found: TableDiff, secrets: Secrets) -> tuple[_Shown, ...]:
    key = {field.id for field in found.comparison.key}
    return tuple(
        _Shown(place, field, kind_of(field.type), field.id in key, name in secrets.masked)
        for place, field in enumerate(found.comparison.fields)
        if (name := field.name.lower()) not in secrets.hidden
    )


def kind_of(type_: str) -> ColumnKind:
    """Return what a column of a type holds."""
    kind = type_of(type_).kind
    if kind in (*INTEGERS, *FLOATS, "decimal"):
        return "number"
    if kind in INSTANTS:
        return "time"
    if kind in TEXTS:
        return "text"
    return "boolean" if kind == "boolean" else "other"


def _changes(found: TableDiff, session: LocalSession) -> tuple[pa.Table, int]:
    """Return the relation to mount, and how many rows changed nothing but their key."""
    before, after = found.net.before, found.net.after
    # Places in `HOW`.
    how = (before < 0) * 1 + (after < 0) * 2
    gone, come = _rekeyed(found, session, before, after)
    if len(gone):
        after, how = after.copy(), how.copy()
        after[gone] = after[come]
        how[gone] = HOW.index("rekeyed")
        left = np.ones(len(how), np.bool_)
        left[come] = False
        before, after, how = before[left], after[left], how[left]
    columns = {"n": pa.array(np.arange(len(how))), "how": pa.array(how, pa.int64())}
    for prefix, places in (("b", before), ("a", after)):
        taken = found.rows.take(pa.array(places, mask=places < 0))
        columns |= {f"{prefix}{n}": column for n, column in enumerate(taken.columns)}
    return pa.table(columns), len(gone)


def _rekeyed(found: TableDiff, session: LocalSession, before: Any, after: Any) -> tuple[Any, Any]:
    """Pair removed and added rows that are equal but for their key, and like no others.

    Returns the places, among all changes, of removed rows and of the added ones that they became.
    """
    key = {field.id for field in found.comparison.key}
    compared = {field.id for field in found.comparison.compared} - key
    others = [n for n, field in enumerate(found.comparison.fields) if field.id in compared]
    gone, come = np.flatnonzero(after < 0), np.flatnonzero(before < 0)
    nothing = np.empty(0, np.int64)
    if not (key and others and len(gone) and len(come)):
        return nothing, nothing
    parts = []
    for name, places, rows in (("gone", gone, before), ("come", come, after)):
        taken = found.rows.take(pa.array(rows[places])).select(others)
        table = taken.rename_columns([f"c{n}" for n in range(len(others))])
        mounted = session.mount_arrow(
            f"__vcs_review_{name}", table.add_column(0, "n", pa.array(places))
        )
        values = ", ".join(
            f"{canonical(f'c{n}', found.comparison.fields[place].type)} k{n}"
            for n, place in enumerate(others)
        )
        keys = ", ".join(f"k{n}" for n in range(len(others)))
        # Rows that are alike could be paired in several ways.
        parts.append(
            f"(select * from (select n, {keys}, count(*) over (partition by {keys}) alike "
            f"from (select n, {values} from {mounted}) {name}_values) {name}_alike "
            f"where alike = 1) {name}_rows"
        )
    on = " and ".join(f"gone_rows.k{n} <=> come_rows.k{n}" for n in range(len(others)))
    text = (
        f"select gone_rows.n gone, come_rows.n come from {parts[0]} join {parts[1]} on {on} "
        "order by gone"
    )
    places_of_gone, places_of_come = session.query(text).arrow().columns
    return places_of_gone.to_numpy(), places_of_come.to_numpy()


def _column_facts(
    session: LocalSession, shown: Sequence[_Shown]
) -> tuple[list[ColumnFacts], list[int]]:
    """Measure each column of the rows that changed; also count its values, roughly."""
    texts = ["count_if(how <> 1)", "count_if(how <> 2)"]
    for item in shown:
        n = item.place
        different = differs(f"b{n}", f"a{n}", item.field.type)
        value = canonical(f"if(how = 2, b{n}, a{n})", item.field.type)
        texts += [f"count_if(how = 0 and {different})", f"approx_count_distinct({value})"]
        for side, missing in (("b", 1), ("a", 2)):
            texts += _measures(item, f"{side}{n}", f"how <> {missing}")
    [values] = session.query(f"select {_listed(texts)} from {_ROWS}").fetch()
    reader = iter(values)
    rows = next(reader), next(reader)
    facts: list[ColumnFacts] = []
    distinct: list[int] = []
    for item in shown:
        cells = next(reader)
        distinct.append(next(reader))
        before, after = (_figures(item, count, reader) for count in rows)
        facts.append(
            ColumnFacts(
                name=item.field.name,
                type=item.field.type,
                kind=item.kind,
                is_key=item.is_key,
                cells_changed=cells,
                change_before=None if item.is_masked else before,
                change_after=None if item.is_masked else after,
                masked=item.is_masked,
            )
        )
    return facts, distinct


def _listed(texts: Iterable[str]) -> str:
    return ", ".join(f"{text} x{n}" for n, text in enumerate(texts))


def _measures(item: _Shown, column: str, where: str = "true") -> list[str]:
    """Return what to select for the figures of a column, as `_figures` reads it."""
    texts = [f"count_if({where} and {column} is null)"]
    type_ = type_of(item.field.type)
    if item.is_number:
        scale = type_.scale if type_.kind == "decimal" else 0
        # Whole numbers and decimals are summed exactly: no sum of them has more digits than that.
        total = "double" if type_.kind in FLOATS else f"decimal(38,{scale})"
        texts.append(f"cast(sum({column}) as {total})")
    if item.has_order:
        shares = ", ".join(map(str, QUANTILES))
        texts.append(f"quantile_disc({column}, array({shares}))")
    return texts


def _figures(item: _Shown, rows: int, reader: Iterator[Any]) -> ColumnFigures:
    nulls = next(reader)
    total = next(reader) if item.is_number else None
    values = (next(reader) if item.has_order else None) or ()
    numbers = tuple(map(_number, values))
    # Nobody can draw an infinite value.
    drawn = numbers if all(map(math.isfinite, numbers)) else ()
    return ColumnFigures(
        rows=rows,
        nulls=nulls,
        sum=None if total is None else _plain(total),
        quantiles=drawn,
        quantile_texts=tuple(map(_plain, values)),
    )


_EPOCH: Final = date(1970, 1, 1)


def _number(value: Any) -> float:
    """Return a value of a column with an order as a number; see `ColumnFigures.quantiles`."""
    match value:
        case FarMoment():
            # Days have far smaller numbers than microseconds in any year that there is.
            is_date = ":" not in value
            return value.number * 86_400.0 if is_date else value.number / 1e6
        case datetime():
            aware = value if value.tzinfo else value.replace(tzinfo=timezone.utc)
            return aware.timestamp()
        case date():
            return (value - _EPOCH).days * 86_400.0
    return float(value)


def _plain(value: Any) -> str:
    return format(value, "f") if isinstance(value, Decimal) else str(value)


def _with_whole(
    difference: Difference,
    session: LocalSession,
    shown: Sequence[_Shown],
    facts: Sequence[ColumnFacts],
    wishes: Wishes,
) -> Iterator[ColumnFacts]:
    """Yield facts with the figures of both versions as a whole, as far as they are known."""
    sides = [
        _whole_figures(difference.repository, session, version, shown, wishes)
        for version in (difference.before, difference.after)
    ]
    for item, fact, before, after in zip(shown, facts, *sides, strict=True):
        if item.is_masked:
            yield fact
            continue
        note = "" if wishes.whole else wishes.why_not
        yield replace(fact, before=before, after=after, note=note)


def _whole_figures(
    repository: Repository,
    session: LocalSession,
    snapshot: Snapshot | None,
    shown: Sequence[_Shown],
    wishes: Wishes,
) -> list[ColumnFigures | None]:
    """Return the figures of a version for each column; None for one that it lacks."""
    if snapshot is None:
        return [None] * len(shown)
    # A column of another table may have another id, and the same name.
    own = [
        snapshot.schema.by_id(item.field.id) or snapshot.schema.find(item.field.name)
        for item in shown
    ]
    version = Version.of(repository, snapshot)
    if not wishes.whole:
        return _figures_of_manifests(version, own)
    # In the types that this version has.
    read = {
        n: item._replace(field=field, kind=kind_of(field.type))
        for n, (item, field) in enumerate(zip(shown, own, strict=True))
        if field is not None and not item.is_masked
    }
    found = _figures_of_rows(session, version, read) if read else {}
    return [found.get(n) for n in range(len(shown))]


def _figures_of_rows(
    session: LocalSession, version: Version, read: Mapping[int, _Shown]
) -> dict[int, ColumnFigures]:
    """Return the figures of columns, by any number, of all rows of a version."""
    fields = {item.field.id: item.field for item in read.values()}
    # The same names for all tables, so that a text is translated once.
    mount = replace(version.mount(fields=tuple(fields.values())), id=_WHOLE)
    mounted = session.mount_physical(mount)
    columns = ", ".join(f"{quoted(item.field.id)} c{n}" for n, item in read.items())
    texts = chain.from_iterable(_measures(item, f"c{n}") for n, item in read.items())
    query = f"select {_listed(texts)} from (select {columns} from {mounted}) whole"
    reader = iter(session.query(query).fetch()[0])
    return {n: _figures(item, version.snapshot.rows, reader) for n, item in read.items()}


_BLOCKS: Final = 10_000
"""Most blocks of a version whose manifests are looked through for NULLs."""


def _figures_of_manifests(
    version: Version, fields: Sequence[Field | None]
) -> list[ColumnFigures | None]:
    """Return figures without sums and quantiles; NULLs as far as manifests know their number."""
    rows, nulls = version.snapshot.rows, {}
    if version.snapshot.block_count <= _BLOCKS:
        nulls = {field.id: version.nulls(field) for field in fields if field is not None}
    return [
        None if field is None else ColumnFigures(rows=rows, nulls=nulls.get(field.id))
        for field in fields
    ]


def _groups(
    session: LocalSession, shown: Sequence[_Shown], distinct: Sequence[int], count: int
) -> tuple[MovedGroup, ...]:
    """Return the values that account for most of the change."""
    most = max(_FEW_VALUES, count // _ROWS_OF_VALUE)
    chosen = [
        item
        for item, values in zip(shown, distinct, strict=True)
        if not item.is_masked and item.kind != "other" and values <= most
    ]
    if count < 2 or not chosen:
        return ()
    parts = (
        f"(select {item.place} place, {_text(f'v{item.place}', item)} value, "
        "count_if(how = 1) come, count_if(how = 2) gone, count_if(how in (0, 3)) same, "
        f"count(*) total from (select how, if(how = 2, b{item.place}, a{item.place}) "
        f"v{item.place} from {_ROWS}) values{item.place} group by v{item.place} "
        f"having count(*) > 1 order by total desc, value limit {_GROUPS_OF_COLUMN})"
        for item in chosen
    )
    text = f"select * from ({' union all '.join(parts)}) found order by total desc, place, value"
    names = {item.place: item.field.name for item in chosen}
    groups = (
        MovedGroup(
            column=names[place],
            value=value,
            added=come,
            removed=gone,
            modified=same,
            share=total / count,
        )
        for place, value, come, gone, same, total in session.query(text).fetch()
    )
    return tuple(item for item in groups if item.share >= _LEAST_SHARE)[:_GROUPS]


def _sample(
    session: LocalSession, rows: pa.Table, ordered: Sequence[_Shown], count: int
) -> tuple[ChangedRow, ...]:
    """Return the most surprising rows.

    Rows that changed in a way in which few others did come first, a few of each way; among those
    of one way the ones with numbers far from what the others have.
    """
    ways = [
        f"if(how = 0 and {differs(f'b{item.place}', f'a{item.place}', item.field.type)}, '1', '0')"
        for item in ordered
    ]
    far: list[str] = []
    for item in (item for item in ordered if item.is_number and not item.is_key):
        before, after = (f"cast({side}{item.place} as double)" for side in "ba")
        value = f"if(how = 0, {after} - {before}, if(how = 2, {before}, {after}))"
        finite = f"case when abs({value}) < {_FINITE} then {value} end"
        mean = f"avg({finite}) over (partition by how)"
        spread = f"nullif(stddev_pop({finite}) over (partition by how), 0)"
        far.append(f"coalesce(abs({finite} - {mean}) / {spread}, 0.0)")
    text = (
        "select n from (select n, far, row_number() over (partition by way order by far desc, n) "
        "place, count(*) over (partition by way) alike from (select n, "
        f"concat(cast(how as string), {', '.join(ways)}) way, greatest(0.0, 0.0"
        f"{''.join(f', {item}' for item in far)}) far from {_ROWS}) ways) places "
        f"order by ceil(place / {_ALIKE}.0), alike, far desc, n limit {count}"
    )
    return tuple(_rows_of(session, rows, ordered, session.query(text).arrow().column(0)))


def _all_rows(
    session: LocalSession, rows: pa.Table, ordered: Sequence[_Shown], wishes: Wishes
) -> tuple[ChangedRow, ...]:
    """Return the rows by key, as far as they fit."""
    # The order of values that are masked would tell of them.
    key = [item for item in ordered if item.is_key and not item.is_masked]
    by = [canonical(f"if(how = 2, b{k.place}, a{k.place})", k.field.type) for k in key]
    # No more fit, however short the values are.
    bound = min(rows.num_rows, max(1, wishes.bytes // (2 * _CELL * len(ordered))))
    if wishes.rows is not None:
        bound = min(bound, wishes.rows)
    listed: list[ChangedRow] = []
    size = 0
    text = f"select n from {_ROWS} order by {', '.join([*by, 'n'])} limit {bound}"
    for row in _rows_of(session, rows, ordered, session.query(text).arrow().column(0)):
        cells = (*(row.before or ()), *(row.after or ()))
        size += sum(_CELL + len((cell or "").encode()) for cell in cells)
        if size > wishes.bytes:
            break
        listed.append(row)
    return tuple(listed)


_TOLD_AT_ONCE: Final = 1_000


def _rows_of(
    session: LocalSession, rows: pa.Table, ordered: Sequence[_Shown], chosen: pa.ChunkedArray
) -> Iterator[ChangedRow]:
    """Yield the rows with the chosen numbers, in their order."""
    texts = ["how"]
    for item in ordered:
        n = item.place
        different = differs(f"b{n}", f"a{n}", item.field.type)
        values = [f"'{MASK}'"] * 2 if item.is_masked else [_text(f"{s}{n}", item) for s in "ba"]
        texts += [f"how in (0, 3) and {different}", *values]
    # A part at a time: the texts of all may be far longer than what is shown in the end.
    for start in range(0, len(chosen), _TOLD_AT_ONCE):
        part = rows.take(chosen.slice(start, _TOLD_AT_ONCE))
        # Numbered again, as the order is that of the choice.
        session.mount_arrow(_SOME, part.set_column(0, "n", pa.array(np.arange(len(part)))))
        for how, *cells in session.query(
            f"select {_listed(texts)} from {_SOME} order by n"
        ).fetch():
            kind = HOW[how]
            is_pair = kind in ("modified", "rekeyed")
            yield ChangedRow(
                how=kind,
                before=None if kind == "added" else tuple(cells[1::3]),
                after=None if kind == "removed" else tuple(cells[2::3]),
                changed=tuple(n for n, mark in enumerate(cells[::3]) if is_pair and mark),
            )


def _text(value: str, item: _Shown) -> str:
    """Return SQL for the text of a value."""
    kind = type_of(item.field.type).kind
    text = f"hex({value})" if kind == "binary" else f"cast({value} as string)"
    cut = f"concat(left({text}, {MAX_TEXT}), '… (', cast(length({text}) as string), "
    return f"if(length({text}) > {MAX_TEXT}, {cut}' characters)'), {text})"
