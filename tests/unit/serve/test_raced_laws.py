"""Two clients' changes that race leave what one order of them leaves, or one is refused."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.iceberg.lake import Lake

from .hand_writer import VectorWriter, Writer

Rows = dict[int, str]


@dataclass(frozen=True)
class Change:
    """What a client does: it sets and deletes rows, or replaces all of them.

    Its new rows have ids and values that nobody else's have, but for those that it updates.
    """

    updated: set[int]
    deleted: set[int]
    inserted: int
    replaces: bool
    by_position: bool

    def of(self, rows: Rows, who: str, first: int) -> Rows:
        left = {} if self.replaces else {k: v for k, v in rows.items() if k not in self.deleted}
        new = {key: who for key in self.updated if self.replaces or key in left}
        return left | new | {first + n: who for n in range(self.inserted)}


@dataclass
class Client:
    """Writes a change to the rows of files that it loaded."""

    writer: Writer
    base: Any
    files: dict[str, Rows]

    def request(self, change: Change, who: str, first: int) -> Any:
        rows: Rows = {}
        for part in self.files.values():
            rows |= part
        after = change.of(rows, who, first)
        deletes: tuple[str, ...] = ()
        kept = list(self.files)
        new = {key: value for key, value in after.items() if rows.get(key) != value}
        gone = {key for key, value in rows.items() if after.get(key) != value}
        touched = [uri for uri, part in self.files.items() if gone & part.keys()]
        if change.by_position and touched:
            places = {
                uri: [n for n, key in enumerate(self.files[uri]) if key in gone] for uri in touched
            }
            deletes = (self.writer.delete(self.base, places),)
        else:
            kept = [uri for uri in kept if uri not in touched]
            for uri in touched:
                part = self.files[uri]
                new |= {key: value for key, value in part.items() if key not in gone}
        if new:
            kept.append(self.writer.write(self.base, list(new.items())))
        request = self.writer.snapshot(self.base, kept, deletes)
        if change.replaces:
            request["updates"][0]["snapshot"]["summary"]["operation"] = "overwrite"
        return request


CHANGES = st.builds(
    Change,
    updated=st.sets(st.integers(0, 5), max_size=3),
    deleted=st.sets(st.integers(0, 5), max_size=2),
    inserted=st.integers(0, 2),
    replaces=st.sampled_from([False, False, False, True]),
    by_position=st.booleans(),
)


@settings(max_examples=settings().max_examples // 10, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.integers(0, 3), max_size=2),
    CHANGES,
    CHANGES,
    st.booleans(),
    st.sampled_from([Writer, VectorWriter]),
)
def test_two_changes_that_race(
    sizes: list[int], one: Change, two: Change, keyed: bool, kind: type[Writer]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        writer = kind(Lake(Path(folder) / "lake"), keyed=keyed)
        files: dict[str, Rows] = {}
        keys = iter(range(6))
        base = writer.load()
        for size in sizes:
            part = {next(keys): "base" for _ in range(size)}
            if part:
                files[writer.write(base, list(part.items()))] = part
        assert writer.send(writer.snapshot(base, list(files))).is_success
        rows = {key: value for part in files.values() for key, value in part.items()}
        # What a client looks for and doesn't find can't be told from its files.
        one, two = (
            replace(
                change, updated=change.updated & rows.keys(), deleted=change.deleted & rows.keys()
            )
            for change in (one, two)
        )
        client = Client(writer, writer.load(), files)
        first = client.request(one, "one", 10)
        second = client.request(two, "two", 20)
        assert writer.send(first).is_success
        after = one.of(rows, "one", 10)
        assert writer.rows() == sorted(after.items())
        answer = writer.send(second)
        if answer.is_success:
            orders = [two.of(after, "two", 20), one.of(two.of(rows, "two", 20), "one", 10)]
            assert writer.rows() in [sorted(order.items()) for order in orders]
        else:
            assert answer.status_code == 409, answer.text
            assert writer.rows() == sorted(after.items())
        found = writer.rows()
        for request in (first, second):
            assert writer.send(request).is_success or not answer.is_success
            assert writer.rows() == found
