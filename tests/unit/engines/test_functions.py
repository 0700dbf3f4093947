"""Python functions without Spark: what their source gives, and what fits a type."""

from __future__ import annotations

import datetime
import pickle
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.model import Function, RelationName
from dbt.adapters.vcs.engines.dataframes.functions import load
from dbt.adapters.vcs.engines.dataframes.worker_handlers import Aggregate, Scalar, fitted

NAME = RelationName("shop", "f")


@pytest.mark.parametrize(
    ("value", "type_", "expected"),
    [
        (None, "int", None),
        (2, "float", 2.0),
        (Decimal("2.5"), "double", 2.5),
        (4.0, "bigint", 4),
        (np.float64(4), "int", 4),
        (np.bool_(True), "boolean", True),
        (1, "decimal(10,2)", Decimal(1)),
        (0.1, "decimal(10,2)", Decimal("0.1")),
        ("x", "varchar(10)", "x"),
        (b"x", "binary", b"x"),
        ([1, None], "array<int>", [1, None]),
        ({"a": 1}, "map<string,int>", {"a": 1}),
        ((1, "a"), "struct<x:int,y:string>", (1, "a")),
        (datetime.date(2026, 1, 1), "date", datetime.date(2026, 1, 1)),
        ("x", "string collate UTF8_LCASE", "x"),
    ],
)
def test_what_fits_a_type(value: Any, type_: str, expected: Any) -> None:
    found = fitted(value, type_, "shop.f")
    assert (found, type(found)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("value", "type_"),
    [
        (1.5, "int"),
        (float("nan"), "bigint"),
        (True, "int"),
        ("1", "double"),
        (1, "boolean"),
        (1, "string"),
        ("x", "binary"),
        (datetime.datetime(2026, 1, 1), "date"),
        (datetime.date(2026, 1, 1), "timestamp"),
        ("abc", "array<string>"),
    ],
)
def test_what_does_not_fit_is_told(value: Any, type_: str) -> None:
    with pytest.raises(TypeError, match=r"shop\.f should return .*, and returned"):
        fitted(value, type_, "shop.f")


def test_a_row_and_a_group() -> None:
    function = Function(
        text=(
            "class Total:\n    def __init__(self): self.sum = 0\n"
            "    def accumulate(self, a, b): self.sum += a * b\n"
            "    def finish(self): return self.sum\n"
        ),
        language="python",
        shape="aggregate",
        handler="Total",
        returns="bigint",
    )
    total = Aggregate(load(NAME, function), str(NAME), "bigint")
    assert total(pa.array([1, 2, 3]), pa.array([4, 5, 6])) == 32
    assert total(pa.array([], pa.int64()), pa.array([], pa.int64())) == 0
    assert Scalar(lambda x: x / 2, str(NAME), "int")(4) == 2


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (Function(text="f = 1", language="python", handler="f"), "It defines: nothing"),
        (Function(text="def g(): 1", language="python", handler="f"), "It defines: g"),
        (Function(text="1 / 0", language="python", handler="f"), "ZeroDivisionError"),
        (
            Function(text="def f(): 1", language="python", handler="f", packages=("x-y-z>1",)),
            "needs the package x-y-z>1",
        ),
        (
            Function(text="class F: pass", language="python", handler="F", shape="aggregate"),
            "accumulate, finish is missing",
        ),
    ],
)
def test_a_source_that_is_none_is_refused(function: Function, words: str) -> None:
    with pytest.raises(InputError, match=words):
        load(NAME, function)


def test_what_workers_get_needs_the_standard_library_alone() -> None:
    """Handlers are sent by value, since a worker may have no dbt-vcs."""
    from pyspark import cloudpickle

    from dbt.adapters.vcs.engines.dataframes import worker_handlers

    cloudpickle.register_pickle_by_value(worker_handlers)
    sent = cloudpickle.dumps(Scalar(abs, str(NAME), "int"))
    assert b"dbt.adapters.vcs.engines.dataframes.functions" not in sent
    assert b"def " not in sent
    assert pickle.loads(sent)(-2) == 2
