"""Diff and merge on plain lists of dicts: so simple that they are obviously right.

A row is a dict by field id, as pyarrow gives Python values: a map is a list of pairs, a struct
a dict. A table is a list of rows. Only `canonical` defines equality.
"""

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

Row = dict[str, Any]
Table = list[Row]
Value = tuple[Hashable, ...]


def canonical(value: Any) -> Hashable:
    """Return something that is equal for equal values, whatever their type."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    if isinstance(value, dict):
        return tuple((name, canonical(value[name])) for name in sorted(value))
    if isinstance(value, list) and value and isinstance(value[0], tuple):
        return frozenset((canonical(key), canonical(inner)) for key, inner in value)
    if isinstance(value, list):
        return tuple(canonical(inner) for inner in value)
    return value  # type: ignore[no-any-return]


def value_of(row: Mapping[str, Any], columns: Sequence[str]) -> Value:
    """Return a row by content; a column that it lacks is NULL."""
    return tuple(canonical(row.get(column)) for column in columns)


def counts_of(table: Iterable[Row], columns: Sequence[str]) -> Counter[Value]:
    return Counter(value_of(row, columns) for row in table)


def signed_diff(before: Table, after: Table, columns: Sequence[str]) -> dict[Value, int]:
    """Listing 2 of the paper: multiset difference, signed counts."""
    counts = counts_of(after, columns)
    counts.subtract(counts_of(before, columns))
    return {value: count for value, count in counts.items() if count}


class Changes(NamedTuple):
    """A diff in rows: what is added, removed, and modified as (before, after)."""

    added: Counter[Value]
    removed: Counter[Value]
    modified: Counter[tuple[Value, Value]]


def wide_diff(before: Table, after: Table, columns: Sequence[str], key: Sequence[str]) -> Changes:
    """Pair what goes and what comes by key, where each key has one of both."""
    net = signed_diff(before, after, columns)
    places = [columns.index(column) for column in key]
    by_key: dict[Value, list[tuple[Value, int]]] = {}
    for value, count in net.items():
        by_key.setdefault(tuple(value[place] for place in places), []).append((value, count))
    changes = Changes(Counter(), Counter(), Counter())
    for group in by_key.values():
        if key and sorted(count for _, count in group) == [-1, 1]:
            (old,) = (value for value, count in group if count < 0)
            (new,) = (value for value, count in group if count > 0)
            changes.modified[old, new] += 1
            continue
        for value, count in group:
            (changes.added if count > 0 else changes.removed)[value] += abs(count)
    return changes


class Merged(NamedTuple):
    """A merge: the rows, and the keys (rows, without a key) that both sides changed."""

    rows: Counter[Value]
    conflicts: set[Value]


def merge(
    versions: Sequence[Table],
    columns: Sequence[str],
    key: Sequence[str],
    mode: str,
    cells: bool = False,
    decisions: Mapping[Value, str | Value] = {},
) -> Merged:
    """Merge base, ours and theirs; in mode fail what conflicts stays as it is in ours."""
    tables = [counts_of(table, columns) for table in versions]
    if not key:
        return _merge_counts(*tables, mode, decisions)
    places = [columns.index(column) for column in key]
    sides: list[dict[Value, Value]] = []
    for table in tables:
        assert set(table.values()) <= {1}
        sides.append({tuple(value[place] for place in places): value for value in table})
        assert len(sides[-1]) == len(table), "a key stands twice"
    rows: Counter[Value] = Counter()
    conflicts = set()
    for found in dict.fromkeys([*sides[0], *sides[1], *sides[2]]):
        b, o, t = (side.get(found) for side in sides)
        decided = decisions.get(found)
        if isinstance(decided, tuple):
            chosen, clash = decided, False
        elif t in (b, o):
            chosen, clash = o, False
        elif o == b:
            chosen, clash = t, False
        elif decided is not None:
            choices = {"ours": o, "theirs": t, "base": b, "delete": None}
            chosen, clash = choices[decided], False
        elif cells and o is not None and t is not None:
            chosen, clash = _merge_cells(b, o, t, mode)
        else:
            chosen, clash = (t if mode == "accept" else o), True
        if chosen is not None:
            rows[chosen] += 1
        if clash:
            conflicts.add(found)
    return Merged(rows, conflicts)


def _merge_cells(b: Value | None, o: Value, t: Value, mode: str) -> tuple[Value, bool]:
    absent = object()
    merged = []
    clash = False
    for our, their, old in zip(o, t, b or [absent] * len(o), strict=True):
        if their in (old, our):
            merged.append(our)
        elif our == old:
            merged.append(their)
        else:
            clash = True
            merged.append(their if mode == "accept" else our)
    return (o if clash and mode == "fail" else tuple(merged)), clash


def _merge_counts(
    base: Counter[Value],
    ours: Counter[Value],
    theirs: Counter[Value],
    mode: str,
    decisions: Mapping[Value, str | Value],
) -> Merged:
    rows: Counter[Value] = Counter()
    conflicts = set()
    for value in dict.fromkeys([*base, *ours, *theirs]):
        b, o, t = base[value], ours[value], theirs[value]
        chosen = o
        if t not in (b, o):
            if o == b:
                chosen = t
            elif value in decisions:
                choices = {"ours": o, "theirs": t, "base": b, "delete": 0}
                chosen = choices[str(decisions[value])]
            else:
                conflicts.add(value)
                chosen = t if mode == "accept" else o
        if chosen:
            rows[value] = chosen
    return Merged(rows, conflicts)
