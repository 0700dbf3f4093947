"""Random commits of a client leave the rows that a list of rows leaves."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.iceberg.lake import Lake

from .hand_writer import VectorWriter, Writer

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 4)),
        st.tuples(st.just("delete"), st.sets(st.integers(0, 11), min_size=1)),
        st.tuples(st.just("update"), st.sets(st.integers(0, 11), min_size=1)),
        st.tuples(st.just("rewrite"), st.integers(0, 3)),
    ),
    min_size=2,
    max_size=7,
)


class Model:
    """The files of a table as lists of rows; a row that is deleted is None."""

    def __init__(self) -> None:
        self.files: dict[str, list[tuple[int, str] | None]] = {}

    def rows(self) -> list[tuple[int, str]]:
        return sorted(row for rows in self.files.values() for row in rows if row is not None)

    def take(self, places: set[int]) -> tuple[dict[str, list[int]], list[tuple[int, str]]]:
        """Delete the live rows of these numbers; return where they were, and what."""
        live = [(uri, n) for uri, rows in self.files.items() for n, row in enumerate(rows) if row]
        gone: dict[str, list[int]] = {}
        taken: list[tuple[int, str]] = []
        for uri, n in (place for number, place in enumerate(live) if number in places):
            row = self.files[uri][n]
            assert row is not None
            gone.setdefault(uri, []).append(n)
            taken.append(row)
            self.files[uri][n] = None
        return gone, taken


@settings(max_examples=settings().max_examples // 20, suppress_health_check=[HealthCheck.too_slow])
@given(STEPS, st.sampled_from([Writer, VectorWriter]))
def test_appends_deletions_updates_and_rewrites(
    steps: list[tuple[str, Any]], kind: type[Writer]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        writer, model, keys = kind(Lake(Path(folder) / "lake")), Model(), iter(range(1_000))
        for step, (work, what) in enumerate(steps):
            base = writer.load()
            shown = writer.shown_deletes(base) if base["current-snapshot-id"] is not None else []
            deletes = tuple(shown)
            added: list[tuple[int, str]] = []
            if work == "append":
                added = [(next(keys), f"{step}") for _ in range(what)]
            elif work == "rewrite":
                uris = list(model.files)
                old = model.files.pop(uris[what], []) if what < len(uris) else []
                added = [row for row in old if row is not None]
            else:
                gone, taken = model.take(what)
                if gone:
                    deletes = (*shown, writer.delete(base, gone))
                if work == "update":
                    added = [(id, f"{step}") for id, _ in taken]
            if added:
                model.files[writer.write(base, added)] = list(added)
            answer = writer.send(writer.snapshot(base, list(model.files), deletes))
            assert answer.is_success, answer.text
            assert writer.rows() == model.rows()
