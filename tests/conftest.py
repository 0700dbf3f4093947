"""What every test may ask for: engines on the one Spark of the test process."""

import os
import re
import shlex
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import hypothesis
import pytest
from dbt_common.tests import enable_test_caching

from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.core.store.local import LocalBlobs
from dbt.adapters.vcs.engines.connect.connect_engine import ConnectEngine
from dbt.adapters.vcs.engines.spark.adopted import AdoptedEngine
from dbt.adapters.vcs.engines.spark.context import private_root
from dbt.adapters.vcs.engines.spark.engine import SparkEngine

from .connect_server import connect_server
from .dbt_shortcuts import spare_dbt
from .guardian import pytest_configure  # noqa: F401 - a hook
from .tiers import in_share, slow

# For every Spark that a test starts, in a process of its own, too. Not through SPARK_CONF_DIR:
# with a folder on its class path Java takes no classes from an archive.
SETTINGS = Path(__file__).parent / "spark" / "spark-defaults.conf"
os.environ.setdefault(
    "PYSPARK_SUBMIT_ARGS", f"--properties-file {shlex.quote(str(SETTINGS))} pyspark-shell"
)

# Ctrl-C is tried, also where whoever started this process in the background made it, and with it
# whatever it starts, ignore that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# As dbt's own suite does: the macros of dbt and of this package are parsed once a process, and not
# for each new project, where they take most of the time of the first command.
enable_test_caching()
spare_dbt()

SPARK_SETTINGS = {
    "spark.master": "local[2]",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.memory": "3g",
}

# `quick` looks at the same few cases each time: between two edits a check has to come out the same
# twice. The others look at new ones: `make` chooses a seed, and prints it.
hypothesis.settings.register_profile("quick", max_examples=20, deadline=None, derandomize=True)
hypothesis.settings.register_profile("ci", max_examples=50, deadline=None)
hypothesis.settings.register_profile("nightly", max_examples=2_000, deadline=None)
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "quick")
hypothesis.settings.load_profile(PROFILE)


def share(count: str) -> int:
    """Return of how many files one is to be run, as an option of the command line has it."""
    if not re.fullmatch("[1-9][0-9]*", count):
        raise pytest.UsageError(
            f"SHARE is {count!r}; expected a whole number of 1 or more, as in SHARE=3 for one "
            "file in three."
        )
    return int(count)


# No variable: the sessions that tests start have files of their own, and run all of them.
def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a session run one file in so many."""
    parser.addoption("--share", default=1, type=share, help="run one file in so many")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the second tier, and leave out the files that are not in the share."""
    for item in slow(items):
        item.add_marker(pytest.mark.slow)
    if (of := config.getoption("--share")) > 1:
        seed = config.getoption("--hypothesis-seed")
        kept = {item: in_share(item.nodeid, of, seed) for item in items}
        config.hook.pytest_deselected(items=[item for item in items if not kept[item]])
        items[:] = [item for item in items if kept[item]]


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say how to see the same random cases again."""
    seed = config.getoption("--hypothesis-seed")
    if seed is not None and PROFILE != "quick":
        terminalreporter.write_line(
            f"The same random cases again: HYPOTHESIS_PROFILE={PROFILE} pytest "
            f"--hypothesis-seed={seed} and the test's name."
        )
    if (of := config.getoption("--share")) > 1:
        terminalreporter.write_line(
            f"One file in {of}; the same files again: make test-rest SHARE={of} SEED={seed}"
        )


@pytest.fixture(scope="session")
def spark_engine_factory() -> Iterator[Callable[..., SparkEngine]]:
    """Return a maker of engines, each with a catalog of its own; closed at the end."""
    engines: list[SparkEngine] = []

    def make(blobs: Blobs, **arguments: Any) -> SparkEngine:
        settings = {**SPARK_SETTINGS, **arguments.pop("settings", {})}
        engines.append(SparkEngine(blobs, settings=settings, **arguments))
        return engines[-1]

    yield make
    for engine in engines:
        engine.close()


@pytest.fixture(scope="session")
def adopted_engine_factory(
    spark_engine_factory: Callable[..., SparkEngine], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., AdoptedEngine]]:
    """Return a maker of engines, each on a session of somebody else's; closed at the end."""
    engines: list[AdoptedEngine] = []
    # Starts Spark.
    own = spark_engine_factory(LocalBlobs(tmp_path_factory.mktemp("own"), fsync=False))
    context = own.session("starter").spark.sparkContext

    def make(blobs: Blobs, **arguments: Any) -> AdoptedEngine:
        warehouse = tmp_path_factory.mktemp("warehouse")
        settings = {"spark.sql.warehouse.dir": str(warehouse), **arguments.pop("settings", {})}
        engines.append(AdoptedEngine(blobs, private_root(context, settings), **arguments))
        return engines[-1]

    yield make
    for engine in engines:
        engine.close()


@pytest.fixture(autouse=True)
def counts_rows(request: pytest.FixtureRequest) -> Iterator[None]:
    """Count rows by a scan: a test that counts wants to know what is in the files."""
    markers = {marker.name for marker in request.node.iter_markers()}
    if "spark" not in markers or "counts_from_manifests" in markers:
        yield
        return
    with patch("dbt.adapters.vcs.sql.query._count_rows", return_value=None):
        yield


@pytest.fixture(scope="session")
def spark_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of a Spark Connect server that all tests of the process share."""
    settings = SETTINGS if str(SETTINGS) in os.environ["PYSPARK_SUBMIT_ARGS"] else None
    with connect_server(tmp_path_factory.mktemp("connect"), properties=settings) as address:
        yield address


@pytest.fixture(scope="session")
def connect_engine_factory(spark_server: str) -> Iterator[Callable[..., ConnectEngine]]:
    """Return a maker of engines on that server; closed at the end."""
    engines: list[ConnectEngine] = []

    def make(blobs: Blobs, **arguments: Any) -> ConnectEngine:
        settings = {"spark.remote": spark_server, **arguments.pop("settings", {})}
        engines.append(ConnectEngine(blobs, settings=settings, **arguments))
        return engines[-1]

    yield make
    for engine in engines:
        engine.close()
