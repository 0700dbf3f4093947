"""Row measures: what is said of rows that differ is what a simple count of them gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dbt.adapters.vcs.changes.diffs import row_measures
from dbt.adapters.vcs.changes.diffs.difference import Difference
from dbt.adapters.vcs.changes.diffs.row_facts import (
    MASK,
    MAX_TEXT,
    ColumnFacts,
    ColumnFigures,
    ColumnPatterns,
    RowFacts,
    Secrets,
)
from dbt.adapters.vcs.changes.diffs.row_measures import Wishes, row_facts
from dbt.adapters.vcs.core.errors import UnsupportedError
from dbt.adapters.vcs.core.model import RelationName, Snapshot
from dbt.adapters.vcs.engines.local_session import LocalSession
from dbt.adapters.vcs.table.compare.comparison import Counts
from dbt.adapters.vcs.table.limits import Limits
from tests.unit.shelf import Shelf

COLUMNS = ("id", "n", "price", "name")
TYPES = (pa.int64(), pa.int32(), pa.decimal128(10, 2), pa.string())
Row = tuple[Any, ...]

IDS = st.integers(0, 6)
REST = st.tuples(
    st.none() | st.integers(-2, 2),
    st.none() | st.sampled_from([Decimal("-1.25"), Decimal("0.00"), Decimal("10.50")]),
    st.none() | st.sampled_from(["a", "b", "<b>"]),
)
BY_KEY = st.dictionaries(IDS, REST, max_size=6).map(
    lambda rows: [(id, *rest) for id, rest in rows.items()]
)
BAGS = st.lists(st.builds(lambda id, rest: (id, *rest), st.none() | IDS, REST), max_size=6)


def versions(
    before: Sequence[Row], after: Sequence[Row], *, key: bool
) -> tuple[Shelf, Snapshot, Snapshot]:
    """A table with the rows before, and its next version with the rows after."""
    shelf = Shelf()
    settled = " tblproperties ('primary_key' = 'id')" if key else ""
    shelf.run(f"create table s.t (id bigint, n int, price decimal(10,2), name string){settled}")
    append(shelf, before)
    old = shelf.snapshot("t")
    gone, come = Counter(before) - Counter(after), Counter(after) - Counter(before)
    places: dict[Row, list[int]] = {}
    for place, row in enumerate(before):
        places.setdefault(row, []).append(place)
    doomed = [(0, place) for row, count in gone.items() for place in places[row][:count]]
    if doomed:
        shelf.delete("t", *doomed)
    append(shelf, list(come.elements()))
    return shelf, old, shelf.snapshot("t")


def append(shelf: Shelf, rows: Sequence[Row]) -> None:
    if rows:
        columns = zip(*rows, strict=True)
        shelf.append(
            "t",
            **{
                name: pa.array(list(values), type_)
                for name, values, type_ in zip(COLUMNS, columns, TYPES, strict=True)
            },
        )


def facts_of(
    shelf: Shelf,
    before: Snapshot | None,
    after: Snapshot | None,
    *,
    secrets: Secrets = Secrets(),  # noqa: B008
    wishes: Wishes = Wishes(),  # noqa: B008
) -> tuple[Counts, RowFacts]:
    difference = Difference(repository=shelf.repository, before=before, after=after)
    with LocalSession(shelf.blobs) as session:
        return row_facts(difference, session, secrets, wishes)


def changes(
    before: Sequence[Row], after: Sequence[Row], *, key: bool
) -> Iterator[tuple[Row | None, Row | None]]:
    """Each change: the row before and the row after, None where there is none."""
    if not key:
        yield from ((row, None) for row in (Counter(before) - Counter(after)).elements())
        yield from ((None, row) for row in (Counter(after) - Counter(before)).elements())
        return
    old, new = ({row[0]: row for row in rows} for rows in (before, after))
    for id in old.keys() | new.keys():
        if old.get(id) != new.get(id):
            yield old.get(id), new.get(id)


def check_figures(found: ColumnFigures | None, values: Sequence[Any], *, number: bool) -> None:
    assert found is not None
    held = [value for value in values if value is not None]
    assert found.rows == len(values)
    assert found.nulls == len(values) - len(held)
    if not number:
        assert (found.sum, found.quantiles, found.quantile_texts) == (None, (), ())
        return
    assert (None if found.sum is None else Decimal(found.sum)) == (sum(held) if held else None)
    if held:
        assert [Decimal(text) for text in found.quantile_texts[:: len(found.quantiles) - 1]] == [
            min(held),
            max(held),
        ]
        assert list(found.quantiles) == [float(text) for text in found.quantile_texts]
        assert {Decimal(text) for text in found.quantile_texts} <= set(held)


def texts(row: Row | None) -> tuple[str | None, ...] | None:
    return row and tuple(None if value is None else str(value) for value in row)


@pytest.mark.parametrize("key", [True, False])
@settings(suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_figures_are_those_of_a_count_by_hand(key: bool, data: st.DataObject) -> None:
    rows = BY_KEY if key else BAGS
    before, after = data.draw(rows), data.draw(rows)
    shelf, old, new = versions(before, after, key=key)
    counts, facts = facts_of(shelf, old, new)
    expected = list(changes(before, after, key=key))
    removed = [one for one, other in expected if one is not None and other is None]
    added = [other for one, other in expected if other is not None and one is None]
    modified = [(one, other) for one, other in expected if one and other]
    assert counts == (len(added), len(removed), len(modified))
    if not expected:
        assert facts == RowFacts()
        return
    assert tuple(column.name for column in facts.columns) == COLUMNS
    for place, column in enumerate(facts.columns):
        number = place < 3
        assert column.kind == ("number" if number else "text")
        assert column.is_key == (key and place == 0)
        assert column.cells_changed == sum(one[place] != two[place] for one, two in modified)
        for figures, side in (
            (column.change_before, [one for one, _ in expected if one]),
            (column.change_after, [two for _, two in expected if two]),
            (column.before, before),
            (column.after, after),
        ):
            check_figures(figures, [row[place] for row in side], number=number)
    check_rows(facts, expected, rekeyed(added, removed) if key else 0)


def rekeyed(added: Iterable[Row], removed: Iterable[Row]) -> int:
    """Rows that only got another key, and are like no others."""
    gone, come = (Counter(row[1:] for row in rows) for rows in (removed, added))
    return sum(gone[rest] == come[rest] == 1 for rest in gone)


def check_rows(
    facts: RowFacts, expected: Sequence[tuple[Row | None, Row | None]], again: int
) -> None:
    assert facts.is_complete
    assert facts.heads == COLUMNS
    assert facts.rekeyed == again
    assert Counter(facts.sample) == Counter(facts.rows)
    seen: list[tuple[Any, Any]] = []
    for row in facts.rows:
        if row.how == "rekeyed":
            assert row.changed == (0,)
            seen += [(row.before, None), (None, row.after)]
        else:
            assert row.how == (
                "added" if row.before is None else "modified" if row.after else "removed"
            )
            seen.append((row.before, row.after))
        if row.before and row.after:
            pairs = enumerate(zip(row.before, row.after, strict=True))
            assert row.changed == tuple(place for place, (one, two) in pairs if one != two)
    assert Counter(seen) == Counter((texts(one), texts(two)) for one, two in expected)


BEFORE = [(1, 1, Decimal("1.50"), "a"), (2, 2, None, "b"), (3, 3, Decimal("3.00"), "c")]
AFTER = [(1, 1, Decimal("9.50"), "a"), (2, 2, None, "x"), (4, 3, Decimal("3.00"), "c")]


def column(facts: RowFacts, name: str) -> ColumnFacts:
    [found] = [item for item in facts.columns if item.name == name]
    return found


def test_a_hidden_column_is_nowhere_and_a_masked_one_without_values() -> None:
    shelf, old, new = versions(BEFORE, AFTER, key=True)
    secrets = Secrets(frozenset({"price"}), frozenset({"name"}))
    _, facts = facts_of(shelf, old, new, secrets=secrets)
    assert facts.heads == ("id", "n", "name")
    masked = column(facts, "name")
    assert masked == ColumnFacts(
        name="name", type="string", kind="text", is_key=False, cells_changed=1, masked=True
    )
    assert "price" not in repr(facts)
    cells = {(row.before or row.after or ())[2] for row in (*facts.rows, *facts.sample)}
    assert cells == {MASK}
    assert all(group.column != "name" for group in facts.groups)


def test_a_masked_key_does_not_order_rows() -> None:
    before = [(id, id, None, "a") for id in (3, 1, 2)]
    after = [(id, id, None, "b") for id in (3, 1, 2)]
    shelf, old, new = versions(before, after, key=True)
    _, plain = facts_of(shelf, old, new)
    assert [row.before and row.before[0] for row in plain.rows] == ["1", "2", "3"]
    _, facts = facts_of(shelf, old, new, secrets=Secrets((), frozenset({"id"})))
    assert facts.key == 1
    assert {row.before and row.before[0] for row in facts.rows} == {MASK}
    assert [row.before and row.before[1] for row in facts.rows] != ["1", "2", "3"]


def test_rows_that_changed_in_a_rare_way_come_first() -> None:
    before = [(id, 1, Decimal("1.00"), "a") for id in range(50)]
    after = [
        (id, 2, Decimal("1.00"), "a") if id != 7 else (7, 1, Decimal("1.00"), "other")
        for id in range(50)
    ]
    shelf, old, new = versions(before, after, key=True)
    _, facts = facts_of(shelf, old, new, wishes=Wishes(sample=5))
    assert len(facts.sample) == 5
    assert facts.sample[0].after == ("7", "1", "1.00", "other")
    assert len(facts.rows) == 50


def test_a_number_far_from_the_others_comes_first() -> None:
    before = [(id, id, None, "a") for id in range(30)]
    after = [(id, id + (1000 if id == 21 else 1), None, "a") for id in range(30)]
    shelf, old, new = versions(before, after, key=True)
    _, facts = facts_of(shelf, old, new)
    assert facts.sample[0].after == ("21", "1021", None, "a")


def test_values_that_account_for_the_change_are_named() -> None:
    before = [(id, id, None, "fr" if id < 9 else "de") for id in range(10)]
    after = [(id, id + 1, None, name) for id, _, _, name in before]
    shelf, old, new = versions(before, after, key=True)
    _, facts = facts_of(shelf, old, new)
    # All rows have no price; a value of one row is no group.
    assert [(item.column, item.value, item.modified, item.share) for item in facts.groups] == [
        ("price", None, 10, 1.0),
        ("name", "fr", 9, 0.9),
    ]


def test_rows_are_left_out_beyond_the_bytes_and_beyond_their_number() -> None:
    before = [(id, id, None, "x" * 100) for id in range(40)]
    after = [(id, id + 1, None, name) for id, _, _, name in before]
    shelf, old, new = versions(before, after, key=True)
    for wishes, most in ((Wishes(bytes=1_000), 4), (Wishes(rows=3), 3)):
        _, facts = facts_of(shelf, old, new, wishes=wishes)
        assert 0 < len(facts.rows) <= most
        assert not facts.is_complete


def test_a_long_value_is_cut_and_its_length_told() -> None:
    shelf, old, new = versions([], [(1, 1, None, "é" * 10_000_000)], key=True)
    _, facts = facts_of(shelf, old, new)
    [row] = facts.rows
    assert row.after is not None
    assert row.after[3] == "é" * MAX_TEXT + "… (10000000 characters)"


def test_types_beyond_numbers_and_texts_have_texts_and_places_in_time() -> None:
    shelf = Shelf()
    shelf.run(
        "create table s.t (id int, d date, x double, b binary, m map<string,int>, "
        "s struct<a:int>) tblproperties ('primary_key' = 'id')"
    )
    shelf.append(
        "t",
        id=pa.array([1, 2], pa.int32()),
        d=pa.array([date(1970, 1, 2), date(9999, 12, 31)]),
        x=[float("nan"), float("-inf")],
        b=[b"\x00\xff", None],
        m=pa.array([[("k", 1)], []], pa.map_(pa.string(), pa.int32())),
        s=pa.array([{"a": 1}, None], pa.struct([("a", pa.int32())])),
    )
    _, facts = facts_of(shelf, None, shelf.snapshot("t"))
    dates = column(facts, "d").change_after
    assert dates is not None
    assert (dates.quantiles[0], dates.quantile_texts[0]) == (86_400.0, "1970-01-02")
    floats = column(facts, "x").change_after
    assert floats is not None
    # Nobody can draw an infinite value.
    assert floats.quantiles == ()
    assert set(floats.quantile_texts) == {"-inf", "nan"}
    assert facts.rows[0].after is not None
    assert facts.rows[0].after[3] == "00FF"


def test_maps_in_another_order_are_no_change_of_a_cell() -> None:
    shelf = Shelf()
    shelf.run(
        "create table s.t (id int, n int, m map<string,int>) tblproperties ('primary_key' = 'id')"
    )
    type_ = pa.map_(pa.string(), pa.int32())
    for number, entries in ((1, [("a", 1), ("b", 2)]), (2, [("b", 2), ("a", 1)])):
        if number == 2:
            old = shelf.snapshot("t")
            shelf.delete("t", (0, 0))
        shelf.append(
            "t",
            id=pa.array([1], pa.int32()),
            n=pa.array([number], pa.int32()),
            m=pa.array([entries], type_),
        )
    counts, facts = facts_of(shelf, old, shelf.snapshot("t"))
    assert counts == (0, 0, 1)
    assert [item.cells_changed for item in facts.columns] == [0, 1, 0]
    assert facts.rows[0].changed == (1,)


def test_a_table_too_large_to_read_has_its_nulls_from_manifests_and_says_why() -> None:
    shelf, old, new = versions(BEFORE, [*BEFORE, (5, None, None, None)], key=True)
    _, facts = facts_of(shelf, old, new, wishes=Wishes(whole=False, why_not="Not computed."))
    prices = column(facts, "price")
    assert prices.note == "Not computed."
    assert prices.after == ColumnFigures(rows=4, nulls=2)
    assert prices.change_after == ColumnFigures(rows=1, nulls=1)


def test_more_rows_than_are_measured_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    shelf, old, new = versions(BEFORE, AFTER, key=True)
    monkeypatch.setattr(row_measures, "MEASURED", Limits(rows=2, bytes=10**9))
    with pytest.raises(UnsupportedError):
        facts_of(shelf, old, new)


def patterns(**lists: tuple[str, ...]) -> Callable[..., Secrets]:
    return ColumnPatterns(**lists).of


def test_patterns_name_columns_whatever_their_case_and_hiding_wins() -> None:
    found = patterns(hide=("*.*.Email",), mask=("shop.orders.*",))(
        [RelationName("shop", "orders")], ["EMAIL", "id"]
    )
    assert found == Secrets(frozenset({"email"}), frozenset({"id"}))
    other = patterns(mask=("shop.orders.*",))([RelationName("shop", "other")], ["id"])
    assert other == Secrets(frozenset(), frozenset())
