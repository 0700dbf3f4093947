"""How far Spark is can be asked at any time, while it is loaded or started, too."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from dbt.adapters.vcs.engines.factory import running_tasks


@pytest.mark.parametrize(
    "pyspark",
    [
        None,
        SimpleNamespace(),
        SimpleNamespace(SparkContext=SimpleNamespace(_active_spark_context=None)),
        SimpleNamespace(SparkContext=SimpleNamespace(_active_spark_context=SimpleNamespace())),
        SimpleNamespace(
            SparkContext=SimpleNamespace(_active_spark_context=SimpleNamespace(_jsc=None))
        ),
    ],
    ids=["not loaded", "being loaded", "not started", "being started", "ended"],
)
def test_no_task_runs_before_spark_does(pyspark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", pyspark)
    assert running_tasks() is None
