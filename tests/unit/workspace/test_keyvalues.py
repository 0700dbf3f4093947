"""What a person writes for a key finds the row, however its value is held."""

from __future__ import annotations

from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.engines.types import arrow_type
from dbt.adapters.vcs.workspace.keyvalues import is_value, key_value

NAME = RelationName("shop", "t")
NOON = datetime(2026, 11, 20, 12)


@pytest.mark.parametrize(
    ("type_", "text", "value"),
    [
        ("int", "7", 7),
        ("string", 'it\'s "q"=x\n', 'it\'s "q"=x\n'),
        ("string", "", ""),
        ("boolean", "true", True),
        ("date", "2026-11-20", date(2026, 11, 20)),
        ("decimal(20,5)", "1.5", Decimal("1.50000")),
        ("double", "1", 1.0),
        ("double", "nan", float("nan")),
        ("double", "0", -0.0),
        ("binary", "00ff", b"\x00\xff"),
        ("timestamp_ntz", "2026-11-20 12:00:00", NOON),
        ("timestamp", "2026-11-20 12:00:00", NOON.replace(tzinfo=timezone.utc)),
        ("timestamp", "2026-11-20 13:00:00+01:00", NOON.replace(tzinfo=timezone.utc)),
        ("timestamp", "2026-11-20T12:00:00Z", NOON.replace(tzinfo=timezone.utc)),
    ],
)
def test_a_text_finds_its_value(type_: str, text: str, value: Any) -> None:
    column = pa.chunked_array([pa.array([value, None], arrow_type(type_))])
    found = is_value(column, key_value(NAME, "k", type_, text))
    assert found.to_pylist() == [True, False]


@pytest.mark.parametrize(
    ("type_", "text"),
    [("int", "x"), ("date", "garbage"), ("timestamp", "noon"), ("binary", "0x"), ("int", "1.5")],
)
def test_what_is_no_value_is_refused(type_: str, text: str) -> None:
    with pytest.raises(InputError, match=rf"{text}' is no value of the column k of shop\.t"):
        key_value(NAME, "k", type_, text)
