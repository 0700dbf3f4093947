"""Equality: Arrow, DuckDB, Spark and an oracle agree for all types, also collated and nested."""

from __future__ import annotations

import math
import struct
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from dbt.adapters.vcs.core.model import Field
from dbt.adapters.vcs.core.model.data_type import Type, type_of
from dbt.adapters.vcs.engines.port import RowSession, TableMount
from dbt.adapters.vcs.table.equality import canonical, differs, equal_rows, equals, group_ids
from dbt.adapters.vcs.table.files.parquet import parquet_bytes
from dbt.adapters.vcs.table.types import arrow_type
from tests.property.oracle import canonical as obvious
from tests.property.test_engine_laws import PHASES, Place, place

__all__ = ["place"]

ROWS = 6
OTHER_NAN = struct.unpack("<d", struct.pack("<Q", 0xFFF8000000000001))[0]
COLLATIONS = (
    None,
    "UTF8_LCASE",
    "UTF8_BINARY_RTRIM",
    "UTF8_LCASE_RTRIM",
    "UNICODE",
    "UNICODE_CI",
    "UNICODE_CI_AI",
    "DE_CI_RTRIM",
)
TEXTS = ("", " ", "a", "A", "a ", "ä", "a\u0308", "ß", "ss", "\0")
FLOATS = (0.0, -0.0, 1.5, math.nan, OTHER_NAN, -math.nan, math.inf)
DECIMALS = ("0", "-0.00", "1.50", "1.5", "-2.01")
MOMENTS = (datetime(1800, 1, 1), datetime(2026, 3, 29, 2, 30), datetime(2026, 3, 29, 2, 30, 0, 1))
ATOMS: dict[str, tuple[Any, ...]] = {
    "boolean": (True, False),
    "tinyint": (0, 1, -1),
    "smallint": (0, 300),
    "int": (0, 2**31 - 1),
    "bigint": (0, -(2**63), 2**63 - 1),
    "float": FLOATS,
    "double": FLOATS,
    "decimal(10,2)": tuple(map(Decimal, DECIMALS)),
    "decimal(38,2)": (*map(Decimal, DECIMALS), Decimal(10) ** 30),
    "string": TEXTS,
    "varchar(9)": TEXTS,
    "binary": (b"", b"\0", b"a", b"A"),
    "date": (date(1, 1, 1), date(2026, 1, 1)),
    "timestamp": tuple(moment.replace(tzinfo=timezone.utc) for moment in MOMENTS),
    "timestamp_ntz": MOMENTS,
}
NAMES = ("a", "B c", "key", "value", "d`e")


def atoms(*, collated: bool) -> st.SearchStrategy[Type]:
    plain = st.sampled_from(sorted(ATOMS)).map(type_of)
    if not collated:
        return plain
    texts = st.sampled_from(COLLATIONS).map(lambda name: Type("string", collation=name))
    return plain | texts


def containers(inner: st.SearchStrategy[Type]) -> st.SearchStrategy[Type]:
    # Spark takes no collated text for the key of a map.
    keys = atoms(collated=False)
    fields = st.dictionaries(st.sampled_from(NAMES), inner, min_size=1, max_size=3)
    return (
        inner.map(lambda part: Type("array", parts=(part,)))
        | st.tuples(keys, inner).map(lambda parts: Type("map", parts=parts))
        | fields.map(lambda of: Type("struct", names=tuple(of), parts=tuple(of.values())))
    )


TYPES = st.recursive(atoms(collated=True), containers, max_leaves=4)


def values(type_: Type) -> st.SearchStrategy[Any]:
    return st.none() | present(type_)


def present(type_: Type) -> st.SearchStrategy[Any]:
    if type_.kind == "array":
        return st.lists(values(type_.parts[0]), max_size=2)
    if type_.kind == "map":
        entry = st.tuples(present(type_.parts[0]), values(type_.parts[1]))
        return st.lists(entry, max_size=3, unique_by=lambda item: obvious(item[0]))
    if type_.kind == "struct":
        parts = zip(type_.names, type_.parts, strict=True)
        return st.fixed_dictionaries({name: values(part) for name, part in parts})
    return st.sampled_from(ATOMS["string" if type_.collation else str(type_)])


@st.composite
def columns(draw: st.DrawFn) -> tuple[Type, list[Any]]:
    """Draw a type and some values of it, one of them twice in different orders."""
    type_ = draw(TYPES)
    found = draw(st.lists(values(type_), min_size=ROWS - 1, max_size=ROWS - 1))
    return type_, [*found, turned(draw(st.sampled_from(found)))]


def turned(value: Any) -> Any:
    """Return an equal value with the entries of its maps the other way round."""
    if isinstance(value, list) and value and isinstance(value[0], tuple):
        return [(turned(key), turned(item)) for key, item in value][::-1]
    if isinstance(value, list):
        return list(map(turned, value))
    if isinstance(value, dict):
        return {name: turned(item) for name, item in value.items()}
    return -value if isinstance(value, float) and value == 0 else value


def table_of(place: Place, session: RowSession, type_: Type, column: pa.Array) -> str:
    """Return a relation of Spark's with the values of a column, `v`, and their numbers, `i`."""
    folder = f"data/e{next(place.worlds)}/w=1"
    rows = pa.table({"i": pa.array(range(len(column)), pa.int64()), "v": column})
    place.blobs.create(f"{folder}/part-0.parquet", parquet_bytes(rows, folder))
    fields = (Field(id="i", name="i", type="bigint"), Field(id="v", name="v", type=str(type_)))
    mount = TableMount(
        id=folder.split("/")[1], folder=folder, files=(f"{folder}/part-0.parquet",), fields=fields
    )
    return session.mount_physical(mount)


def pairs_of(session: RowSession, relation: str, type_: str) -> tuple[list[list[bool]], set[Any]]:
    """Return the results of five comparisons for each pair of rows, and the groups of rows."""
    value, other = "a.v", "b.v"
    one, two = canonical(value, type_), canonical(other, type_)
    numbered = (
        f"(select i, v, min(i) over (partition by {canonical('v', type_)}) g from {relation})"
    )
    asked = (
        equals(value, other, type_),
        f"not {differs(value, other, type_)}",
        "a.g = b.g",
        "joined.one is not null",
    )
    matched = f"select a.i one, b.i two from {relation} a join {relation} b on {asked[0]}"
    found = session.query(
        f"select {', '.join(asked)}, {asked[0]} and xxhash64({one}) <> xxhash64({two}) "
        f"from {numbered} a cross join {numbered} b left join ({matched}) joined "
        "on joined.one = a.i and joined.two = b.i order by a.i, b.i"
    ).fetch()
    assert not any(row[-1] for row in found), "equal values have one hash"
    groups = session.query(
        f"select sort_array(collect_list(i)) from {relation} group by {canonical('v', type_)}"
    ).fetch()
    return [list(row[:-1]) for row in found], {tuple(group) for (group,) in groups}


def grouped(codes: list[Any]) -> set[tuple[int, ...]]:
    return {tuple(n for n, other in enumerate(codes) if other == code) for code in codes}


@settings(max_examples=25, phases=PHASES, suppress_health_check=list(HealthCheck))
@given(drawn=columns())
def test_engines_agree_with_the_oracle(place: Place, drawn: tuple[Type, list[Any]]) -> None:
    type_, items = drawn
    # Spark keeps a nested char or varchar as a text of the whole type, without quoting names.
    assume("`" not in str(type_) or "char(" not in str(type_))
    column = pa.array(items, arrow_type(str(type_)))
    expected = grouped(list(map(obvious, items)))
    relation = table_of(place, place.rows, type_, column)
    pairs, groups = pairs_of(place.rows, relation, str(type_))
    together = [
        any({one, two} <= set(group) for group in expected)
        for one in range(ROWS)
        for two in range(ROWS)
    ]
    assert groups == expected
    assert pairs == [[is_equal] * 4 for is_equal in together]


@given(drawn=columns())
def test_arrow_agrees_with_the_oracle(drawn: tuple[Type, list[Any]]) -> None:
    type_, items = drawn
    column = pa.chunked_array([pa.array(items, arrow_type(str(type_)))])
    assert grouped(group_ids([column], ROWS).tolist()) == grouped(list(map(obvious, items)))
    one, other = (np.array(side) for side in zip(*np.ndindex(ROWS, ROWS), strict=True))
    sides = ([column.take(pa.array(side))] for side in (one, other))
    expected = [obvious(items[n]) == obvious(items[m]) for n, m in np.ndindex(ROWS, ROWS)]
    assert equal_rows(*sides, len(one)).tolist() == expected


# Arrow lacks these types; equal values are in one list.
FOREIGN = {
    "variant": [
        ['parse_json(\'{"a":1,"b":[null]}\')', 'parse_json(\'{"b":[null], "a":1}\')'],
        ["parse_json('null')"],
        ["null"],
        ["parse_json('\"a\"')"],
        ["parse_json('\"A\"')"],
    ],
    "array<variant>": [
        ["array(parse_json('1'), null)"],
        ["array(parse_json('1'), parse_json('null'))"],
        ["null"],
    ],
    "map<string,struct<x:variant,y:string collate UTF8_LCASE>>": [
        [
            "map('p', named_struct('x', parse_json('1'), 'y', 'a' collate utf8_lcase), 'q', null)",
            "map('q', null, 'p', named_struct('x', parse_json('1'), 'y', 'a' collate utf8_lcase))",
        ],
        ["map('p', named_struct('x', parse_json('1'), 'y', 'A' collate utf8_lcase), 'q', null)"],
        ["map('p', named_struct('x', parse_json('1'), 'y', null), 'q', null)"],
    ],
    "interval day to second": [
        ["interval '1' day", "interval '24' hour"],
        ["interval '1' second"],
        ["null"],
    ],
    "array<interval year to month>": [
        ["array(interval '1' year, null)", "array(interval '12' month, null)"],
        ["array(interval '1' month)"],
    ],
}


@pytest.mark.parametrize("place", [pytest.param("spark", marks=pytest.mark.spark)], indirect=True)
@pytest.mark.parametrize("type_", FOREIGN)
def test_types_that_arrow_lacks(place: Place, type_: str) -> None:
    items = [value for group in FOREIGN[type_] for value in group]
    codes = [number for number, group in enumerate(FOREIGN[type_]) for _ in group]
    rows = " union all ".join(
        f"select {i}L i, cast({value} as {type_}) v" for i, value in enumerate(items)
    )
    pairs, groups = pairs_of(place.rows, f"({rows})", type_)
    assert groups == grouped(codes)
    assert pairs == [[one == two] * 4 for one in codes for two in codes]
