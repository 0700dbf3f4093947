"""A microbatch replaces the rows that dbt's own filter selects for it, and no others."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import jinja2
import pytest
from dbt.adapters.base.relation import EventTimeFilter
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dbt.adapters.vcs.relation import VcsRelation
from dbt.include.vcs import PACKAGE_PATH

from .shop import Shop

pytestmark = pytest.mark.spark

ZONE: Final = "spark.sql.session.timeZone"
ZONES: Final = ("UTC", "America/New_York", "Asia/Tokyo", "Pacific/Kiritimati")
TYPES: Final = ("timestamp", "timestamp_ntz", "date", "string")
SIZES: Final = (timedelta(hours=1), timedelta(days=1))
PARTITIONS: Final = ("", "seen", "day", "place, day")
"""By the event time itself, by its date (as a generated model has it), and by more than that."""
START: Final = datetime(2026, 3, 8, tzinfo=timezone.utc)
"""In New York the clock skips an hour on that day."""

MACROS: Final = Path(PACKAGE_PATH) / "macros/materializations/get_incremental_sql.sql"
Batch = tuple[datetime, datetime]


def condition(batch: Batch) -> str:
    """Return the condition that the macro writes for a batch."""
    given: dict[str, Any] = {
        "config": {"event_time": "seen"},
        "model": {"batch": {"event_time_start": batch[0], "event_time_end": batch[1]}},
    }
    environment = jinja2.Environment(extensions=["jinja2.ext.do"])
    module: Any = environment.from_string(MACROS.read_text(), given).module
    return str(module.vcs_batch_condition()).strip()


def dbts_filter(batch: Batch) -> str:
    """Return what dbt appends to the relation that a batch reads."""
    filter_ = EventTimeFilter(field_name="seen", start=batch[0], end=batch[1])
    return VcsRelation.create(identifier="x")._render_event_time_filtered(filter_)


SHIFTS: Final = st.sampled_from([-1, 0, 1])
HOURS: Final = st.sampled_from([-14, -9, -5, -4, -1, 0, 1, 4, 5, 9, 14])


@settings(max_examples=max(1, settings().max_examples // 100))
@example("America/New_York", "timestamp_ntz", SIZES[1], [(0, -1, 0), (1, -14, 0)], 1, "")
@example("Asia/Tokyo", "date", SIZES[1], [(0, 0, 0), (1, 0, 0)], 0, "seen")
@example("America/New_York", "timestamp", SIZES[1], [(0, -1, 0), (1, -1, 0), (1, 1, 0)], 0, "day")
@example("Asia/Tokyo", "timestamp_ntz", SIZES[0], [(0, 9, -1), (1, -9, 0)], 1, "place, day")
@given(
    zone=st.sampled_from(ZONES),
    type_=st.sampled_from(TYPES),
    size=st.sampled_from(SIZES),
    moments=st.lists(st.tuples(st.integers(0, 2), HOURS, SHIFTS), min_size=1, max_size=12),
    again=st.integers(0, 1),
    by=st.sampled_from(PARTITIONS),
)
def test_a_batch_replaces_what_it_reads(
    shop: Shop,
    zone: str,
    type_: str,
    size: timedelta,
    moments: list[tuple[int, int, int]],
    again: int,
    by: str,
) -> None:
    """Each row is beside an edge of a batch: some hours, and at most a microsecond, away."""
    edges = [START + number * size for number in range(3)]
    batches = list(pairwise(edges))
    times = [
        edges[edge] + timedelta(hours=hours, microseconds=micros)
        for edge, hours, micros in moments
    ]
    rows = ", ".join(
        f"({number}, cast('{time:%Y-%m-%d %H:%M:%S.%f}' as {type_}))"
        for number, time in enumerate(times)
    )
    columns = f"id int, seen {type_}, build int, place int, day date"
    # Spark puts partition columns last, in the order of the clause.
    keys = by.split(", ") if by else []
    order = [each for each in ("id", "seen", "build", "place", "day") if each not in keys] + keys
    shop.sql(f"set {ZONE} = {zone}")
    try:
        source = shop.make(f"id int, seen {type_}", f"values {rows}")
        target = f"b{next(shop.numbers)}"
        partitioned = f" partitioned by ({by})" if by else ""
        shop.sql(f"create table {target} ({columns}){partitioned}")
        for build, batch in enumerate([*batches, batches[again]]):
            made = {"build": f"{build}", "place": "id % 2", "day": "to_date(seen)"}
            selected = ", ".join(f"{made.get(each, each)} as {each}" for each in order)
            shop.sql(
                f"insert into table {target} replace where {condition(batch)} "
                f"select {selected} from {source} where {dbts_filter(batch)}"
            )
        wanted = []
        for number, batch in enumerate(batches):
            build = len(batches) if number == again else number
            found = shop.rows(f"select id from {source} where {dbts_filter(batch)}")
            wanted += [(id, build) for (id,) in found]
        assert shop.rows(f"select id, build from {target}") == sorted(wanted, key=repr)
    finally:
        shop.sql(f"reset {ZONE}")
