"""What `dbt-vcs sql` shows besides the rows of the last statement."""

from __future__ import annotations

import warnings
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa
import pytest

from dbt.adapters.vcs.core.errors import EngineError
from dbt.adapters.vcs.engines import factory, methods
from tests.unit.fake_engine import FakeEngine
from tests.unit.warehouse import Warehouse

from .conftest import Call

PROFILES = "shop: {outputs: {default: {type: vcs, schema: s, method: far}}}\n"


class Warned:
    """A client whose statements warn."""

    def __enter__(self) -> Warned:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        pass

    def sql(self, text: str) -> pa.Table:
        warnings.warn(f"Nothing picked by {text}.", stacklevel=4)
        return pa.table({"how": ["nothing_picked"]})


def test_statements_run_where_the_profile_says(
    call: Call, folder: Path, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "dbt_project.yml").write_text("name: shop\nprofile: shop\n")
    (folder / "profiles.yml").write_text(PROFILES)
    monkeypatch.setattr(factory, "_MAKERS", {"far": lambda blobs, **_: FakeEngine(blobs)})
    monkeypatch.setattr(methods, "METHODS", ("far",))
    shown = call("sql", "select * from nowhere.t where true", code=2)
    assert "No query of this engine: select * from nowhere.t where true" in shown.output


def test_warnings_of_each_statement_are_lines_without_a_place_in_code(
    vcs: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    def connected(*_: Any, **__: Any) -> Warned:
        return Warned()

    monkeypatch.setattr("dbt.adapters.vcs.api.Client.on", connected)
    done = vcs("sql", "one; two; one")
    lines = [f"Warning: Nothing picked by {text}.\n" for text in ("one", "two", "one")]
    assert done.stderr == "".join(lines)
    assert "nothing_picked" in done.stdout


@pytest.mark.parametrize(
    ("text", "early"),
    [
        ("select 1", True),
        ("/* all */ WITH a as (select 1) select * from a; show tables", True),
        ("merge into a using b on true when matched then delete", True),
        ("show tables; select 1", False),
        ("create table t as select 1", False),
        ("drop table t", False),
    ],
)
def test_what_is_sure_to_be_for_spark_lets_it_start_before_all_else(
    vcs: Call, monkeypatch: pytest.MonkeyPatch, text: str, early: bool
) -> None:
    launched = []

    def launch(blobs: object, **arguments: object) -> None:
        assert arguments.keys() >= {"storage_options"}
        launched.append(blobs)
        # Whoever needs Spark gets the error, and these clients need none.
        raise EngineError("No Java.")

    monkeypatch.setattr(factory, "launch_process", launch)
    monkeypatch.setattr("dbt.adapters.vcs.api.Client.on", lambda *_, **__: Warned())
    assert "Nothing picked by" in vcs("sql", text).stderr
    assert len(launched) == early
