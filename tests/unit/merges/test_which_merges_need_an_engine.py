"""Which merges ask for Spark: those of types that only it has, or where somebody asks for it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

import msgspec
import pytest

from dbt.adapters.vcs.changes.merges import table_merge
from dbt.adapters.vcs.changes.merges.conflicts.choices import RowChoice
from dbt.adapters.vcs.changes.merges.conflicts.policy import Choice, Mode, Policy
from dbt.adapters.vcs.changes.merges.table_merge import merge_tables
from dbt.adapters.vcs.commands.merge import MergeRequest, continue_merge, merge
from dbt.adapters.vcs.commands.resolve import resolve
from dbt.adapters.vcs.commands.revert import revert
from dbt.adapters.vcs.core.errors import ConflictError, InputError
from dbt.adapters.vcs.core.ids import SnapshotId
from dbt.adapters.vcs.core.model import Field, TableEntry
from dbt.adapters.vcs.core.store.local import LocalBlobs
from dbt.adapters.vcs.engines.port import Engine
from dbt.adapters.vcs.engines.row_sessions import ENGINE
from dbt.adapters.vcs.table.limits import Limits
from tests.unit.warehouse import Warehouse, promote

Make = Callable[[], Engine]


class AskedError(Exception):
    """An engine was asked for."""


def engine() -> Engine:
    raise AskedError


@pytest.fixture
def forked(warehouse: Warehouse) -> Warehouse:
    fork(warehouse)
    return warehouse


def fork(warehouse: Warehouse) -> None:
    """Change every row of one table on two branches."""
    warehouse.put(a="1")
    warehouse.branch("dev")
    warehouse.put("dev", a="2")
    warehouse.put(a="3")


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing fit this process."""
    never = partial(merge_tables, limits=Limits(rows=-1, bytes=-1))
    monkeypatch.setattr(table_merge, "merge_tables", never)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask for Spark."""
    monkeypatch.setenv(ENGINE, "spark")


SKIP = MergeRequest(policy=Policy(override=Mode.SKIP))

CHANGES = {
    "merge": lambda w, make: merge(w.repository, "dev", "main", SKIP, author="ann", engine=make),
    "dry_run": lambda w, make: merge(
        w.repository, "dev", "main", replace(SKIP, dry_run=True), author="ann", engine=make
    ),
    "promote": lambda w, make: promote(
        w.repository, "dev", "main", SKIP, author="ann", engine=make
    ),
    "revert": lambda w, make: revert(
        w.repository, "main~1", branch="main", author="ann", engine=make
    ),
}


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_does_not_fit_asks_for_no_spark(
    forked: Warehouse, change: Callable[[Warehouse, Make], object]
) -> None:
    is_revert = change is CHANGES["revert"]
    if is_revert:
        forked.put(a="4")
    with pytest.raises(ConflictError, match="10 rows") if is_revert else nullcontext():
        change(forked, engine)


def test_an_engine_that_nobody_knows_is_refused(
    forked: Warehouse, tiny: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ENGINE, "polars")
    with pytest.raises(InputError, match="Expected duckdb or spark in DBT_VCS_ENGINE"):
        CHANGES["merge"](forked, engine)


@pytest.mark.parametrize(
    ("name", "value"), [("DBT_VCS_MEMORY", "much"), ("DBT_VCS_SPILL", "/nowhere/at/all")]
)
def test_a_setting_that_makes_no_sense_is_refused(
    forked: Warehouse, tiny: None, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(InputError, match=f"{name}, found '{value}'"):
        CHANGES["merge"](forked, engine)


@pytest.mark.usefixtures("tiny", "asked")
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_does_not_fit_is_for_spark_if_it_is_asked_for(
    forked: Warehouse, change: Callable[[Warehouse, Make], object]
) -> None:
    if change is CHANGES["revert"]:
        forked.put(a="4")
    with pytest.raises(AskedError):
        change(forked, engine)


def test_rows_of_a_type_that_only_spark_has_are_for_spark_however_few(
    forked: Warehouse,
) -> None:
    objects = forked.repository.objects
    for branch, entry in (
        ("main", forked.shown()["shop.a"]),
        ("dev", forked.shown("dev")["shop.a"]),
    ):
        assert isinstance(entry, TableEntry)
        old = objects.snapshot(entry.snapshot)
        schema = old.schema.add([Field(id="", name="said", type="variant")])
        new = objects.put(msgspec.structs.replace(old, schema=schema))
        forked.put(branch, a=TableEntry(snapshot=SnapshotId(new)))
    with pytest.raises(AskedError):
        merge(forked.repository, "dev", "main", author="ann", engine=engine)


def test_a_merge_that_goes_on_asks_the_engine_too(
    forked: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConflictError):
        merge(forked.repository, "dev", "main", author="ann", engine=engine)
    resolve(forked.repository, "main", None, RowChoice(choice=Choice.THEIRS), author="ann")
    with monkeypatch.context() as patch:
        patch.setenv(ENGINE, "spark")
        never = partial(merge_tables, limits=Limits(rows=-1, bytes=-1))
        patch.setattr(table_merge, "merge_tables", never)
        with pytest.raises(AskedError):
            continue_merge(forked.repository, "main", author="ann", engine=engine)
    continue_merge(forked.repository, "main", author="ann", engine=engine)
    assert {row["v"] for row in forked.rows("a")} == {"2"}


@pytest.mark.parametrize("name", ["merge", "dry_run", "promote"])
def test_what_fits_asks_for_no_engine(forked: Warehouse, name: str) -> None:
    assert CHANGES[name](forked, engine).how == "merge"


def test_the_command_merges_rows_without_java_and_without_pyspark(tmp_path: Path) -> None:
    warehouse = Warehouse(LocalBlobs(tmp_path / "w", fsync=False))
    fork(warehouse)
    program = (
        "import sys; sys.modules['pyspark'] = None; from dbt.adapters.vcs.cli import main; main()"
    )
    arguments = ["--repository", str(tmp_path / "w"), "--on-conflict", "accept"]
    done = subprocess.run(
        [sys.executable, "-c", program, "merge", "dev", "main", *arguments],
        env={**os.environ, "PATH": "/nowhere", "JAVA_HOME": "/nowhere"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert {row["v"] for row in warehouse.rows("a")} == {"2"}
