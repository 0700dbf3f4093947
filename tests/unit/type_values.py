"""Values of each type of column, for laws."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

_DAY = datetime.date(1970, 1, 1)
_NOON = datetime.datetime(2026, 11, 20, 12)
_TEXTS = st.sampled_from(
    ["a", "b/c", "d=e", "f%20g", "ü ö", "x" * 70, "\U0001f600" * 70, "'", " z"]
)
_TIMES = st.integers(-(10**15), 10**15).map(lambda n: _NOON + datetime.timedelta(microseconds=n))
_WHOLE = st.integers(-(2**7), 2**7 - 1)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "boolean": st.booleans(),
    "tinyint": _WHOLE,
    "smallint": _WHOLE.map(lambda n: n * 256),
    "int": _WHOLE.map(lambda n: n * 2**24),
    "bigint": _WHOLE.map(lambda n: n * 2**56),
    "float": st.floats(width=32),
    "double": st.floats(),
    "decimal(9,2)": st.integers(-(10**9) + 1, 10**9 - 1).map(lambda n: Decimal(n).scaleb(-2)),
    "decimal(38,9)": st.integers(-(10**37), 10**37).map(lambda n: Decimal(n).scaleb(-9)),
    "string": _TEXTS,
    "varchar(80)": _TEXTS,
    "binary": st.binary(max_size=4),
    "date": st.integers(-100_000, 100_000).map(lambda n: _DAY + datetime.timedelta(days=n)),
    "timestamp": _TIMES.map(lambda at: at.replace(tzinfo=datetime.timezone.utc)),
    "timestamp_ntz": _TIMES,
    "array<int>": st.lists(st.none() | _WHOLE, max_size=3),
    "map<string,bigint>": st.dictionaries(_TEXTS, st.none() | _WHOLE, max_size=2).map(
        lambda found: list(found.items())
    ),
    "struct<a:int,b:array<struct<c:string>>>": st.fixed_dictionaries(
        {
            "a": st.none() | _WHOLE,
            # PyIceberg takes a list that is NULL in a struct for an empty one.
            "b": st.lists(st.fixed_dictionaries({"c": _TEXTS}), max_size=2),
        }
    ),
}
