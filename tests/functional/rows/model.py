"""A table as a list of dicts, and random statements on it: SQL with what it means in Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from hypothesis import strategies as st

Row = dict[str, Any]
NAMES = ("a", "b", "c", "Dé e")
VALUES = st.sampled_from([None, -1, 0, 1, 2, 3, 7])


class Condition(NamedTuple):
    """SQL text, and the same for a row of the list; unknown is False."""

    sql: str
    holds: Callable[[Row], bool]


class Source(NamedTuple):
    """Rows to merge: keys and values."""

    rows: tuple[tuple[Any, Any], ...]

    @property
    def sql(self) -> str:
        listed = [f"select {text(k)} k, {text(x)} x" for k, x in self.rows]
        empty = "select cast(null as int) k, cast(null as int) x where false"
        return f"({' union all '.join(listed) or empty})"


class Clauses(NamedTuple):
    """Which clauses a merge has, each with the condition of its own."""

    update: str | None
    delete: Condition | None
    insert: bool
    by_source: Condition | None


@dataclass
class Table:
    """The oracle: columns in order, and rows in no order."""

    columns: list[str]
    rows: list[Row] = field(default_factory=list)

    def copy(self) -> Table:
        return replace(self, columns=list(self.columns), rows=[dict(row) for row in self.rows])

    def contents(self) -> Counter[tuple[Any, ...]]:
        return Counter(tuple(row[name] for name in self.columns) for row in self.rows)

    def insert(self, rows: list[tuple[Any, ...]]) -> None:
        self.rows += [dict(zip(self.columns, row, strict=True)) for row in rows]

    def update(self, column: str, change: Callable[[Row], Any], condition: Condition) -> int:
        found = [row for row in self.rows if condition.holds(row)]
        for row, value in [(row, change(row)) for row in found]:
            row[column] = value
        return len(found)

    def delete(self, condition: Condition) -> int:
        before = len(self.rows)
        self.rows = [row for row in self.rows if not condition.holds(row)]
        return before - len(self.rows)

    def merge(self, source: Source, clauses: Clauses) -> int | None:
        """Return the rows affected, or None if Spark must refuse; then nothing changes."""
        keys = Counter(k for k, _ in source.rows if k is not None)
        several = any(keys[row["k"]] > 1 for row in self.rows)
        if several and clauses.update is not None:
            return None
        if several and clauses.delete is not None and clauses.delete.sql:
            return None
        values = {k: x for k, x in source.rows if k is not None}
        mine = {row["k"] for row in self.rows if row["k"] is not None}
        kept, affected = [], 0
        for row in self.rows:
            gone = False
            if row["k"] in values:
                if clauses.delete is not None and clauses.delete.holds(row):
                    gone, affected = True, affected + 1
                elif clauses.update is not None:
                    row[clauses.update], affected = values[row["k"]], affected + 1
            elif clauses.by_source is not None and clauses.by_source.holds(row):
                gone, affected = True, affected + 1
            if not gone:
                kept.append(row)
        self.rows = kept
        if clauses.insert:
            for k, _ in source.rows:
                if k is None or k not in mine:
                    self.rows.append(dict.fromkeys(self.columns) | {"k": k})
                    affected += 1
        return affected

    def add(self, name: str) -> None:
        self.columns.append(name)
        for row in self.rows:
            row[name] = None

    def drop(self, name: str) -> None:
        self.columns.remove(name)
        for row in self.rows:
            del row[name]

    def rename(self, old: str, new: str) -> None:
        self.columns[self.columns.index(old)] = new
        for row in self.rows:
            row[new] = row.pop(old)


def text(value: Any) -> str:
    return "cast(null as int)" if value is None else str(value)


def quoted(name: str) -> str:
    return f"`{name}`"


def conditions(columns: list[str], prefix: str = "") -> st.SearchStrategy[Condition]:
    """Return a strategy for conditions on the columns."""

    def compare(name: str, operator: str, value: int) -> Condition:
        test: dict[str, Callable[[Any], bool]] = {
            "=": lambda x: x is not None and x == value,
            ">": lambda x: x is not None and x > value,
            "<=": lambda x: x is not None and x <= value,
            "<>": lambda x: x is not None and x != value,
            "<=>": lambda x: x == value,
        }
        return Condition(
            f"{prefix}{quoted(name)} {operator} {value}", lambda row: test[operator](row[name])
        )

    def null(name: str) -> Condition:
        return Condition(f"{prefix}{quoted(name)} is null", lambda row: row[name] is None)

    def both(one: Condition, other: Condition) -> Condition:
        return Condition(
            f"({one.sql}) and ({other.sql})", lambda row: one.holds(row) and other.holds(row)
        )

    def either(one: Condition, other: Condition) -> Condition:
        return Condition(
            f"({one.sql}) or ({other.sql})", lambda row: one.holds(row) or other.holds(row)
        )

    names = st.sampled_from(columns)
    operators = st.sampled_from(["=", ">", "<=", "<>", "<=>"])
    plain = st.builds(compare, names, operators, st.integers(-1, 7)) | st.builds(null, names)
    return plain | st.builds(both, plain, plain) | st.builds(either, plain, plain)
