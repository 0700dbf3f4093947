"""What dbt's own conformance suite asks for: a fresh repository a class, one Spark a process."""

from __future__ import annotations

import getpass
import os
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from dbt.adapters.factory import reset_adapters

from .audit import COMPARED, verifying
from .part import is_in_part

pytest.register_assert_rewrite("dbt.tests")

# The suite's fixtures: imported, not named in pytest_plugins, so that only this folder has them.
from dbt.tests.fixtures.project import *  # noqa: E402, F403

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what `make test-all` leaves to `make conformance`."""
    for item in items:
        if HERE in item.path.parents and not is_in_part(item):
            item.add_marker(pytest.mark.conformance)


IS_AUDIT = os.environ.get("VCS_REUSE") == "verify"


@pytest.fixture(scope="session", autouse=True)
def audited() -> Iterator[None]:
    """With VCS_REUSE=verify, compute everything and compare it with what is remembered."""
    with verifying() if IS_AUDIT else nullcontext():
        yield


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Let an audit fail that had nothing to compare."""
    if IS_AUDIT and not exitstatus and not (COMPARED["tables"] and COMPARED["answers"]):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how much an audit compared."""
    if IS_AUDIT:
        terminalreporter.write_line(
            f"Computed and compared with what was remembered: {COMPARED['tables']} tables, "
            f"{COMPARED['answers']} answers."
        )


@pytest.fixture(scope="class", autouse=True)
def no_adapter_of_other_tests() -> None:
    """Forget the adapter that another file's last dbt left: the suite would take it for its own.

    dbt's registry keeps one adapter of a type and ignores a second one.
    """
    reset_adapters()


@pytest.fixture(scope="class")
def publish() -> str:
    """Return the profile's `publish`; `always` where a test looks at what a failed run made."""
    return "on_success"


@pytest.fixture(scope="class")
def dbt_profile_target(tmp_path_factory: pytest.TempPathFactory, publish: str) -> dict[str, Any]:
    """Return the profile's output; Spark starts with the process's first class."""
    return {
        "type": "vcs",
        "method": "session",
        "repository": str(tmp_path_factory.mktemp("warehouse")),
        "branch": "main",
        "publish": publish,
        "threads": 4,
        "spark_config": {
            "spark.master": "local[2]",
            "spark.driver.memory": "3g",
            "spark.sql.shuffle.partitions": 2,
        },
    }


@pytest.fixture(scope="class")
def profile_user() -> str:
    """Return who runs the tests: Spark itself knows no users."""
    return getpass.getuser()


@pytest.fixture(scope="class")
def logs_dir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return where dbt logs to: outside of the checkout."""
    folder = str(tmp_path_factory.mktemp("logs"))
    os.environ["DBT_LOG_PATH"] = folder
    yield folder
    del os.environ["DBT_LOG_PATH"]
