"""What the process shows and leaves: nothing."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.vcs.engines.port import Engine
from dbt.adapters.vcs.engines.spark import context
from dbt.adapters.vcs.engines.spark.context import private_root

from .bench import Bench

pytestmark = pytest.mark.spark

SCRIPT = """
import logging, sys, threading
from pathlib import Path
from dbt.adapters.vcs.engines.port import TableMount
from dbt.adapters.vcs.core.model import Field, RelationName
from dbt.adapters.vcs.core.store.local import LocalBlobs
from dbt.adapters.vcs.engines.spark.engine import SparkEngine
from dbt.adapters.vcs.engines.engine_errors import StatementError
from dbt.adapters.vcs.engines.port import (Destination)

repository = Path(sys.argv[1])
engine = SparkEngine(LocalBlobs(repository), settings={"spark.master": "local[1]"})
assert "pyspark" not in sys.modules, "nothing starts before the first session"
# Another engine starts Spark early, in the background; the session waits for it.
other = SparkEngine(LocalBlobs(repository), settings={"spark.master": "local[1]"})
early = threading.Thread(target=other.prepare)
early.start()
if sys.argv[2] == "after":
    early.join()
session = engine.session("one")
assert "pandas" not in sys.modules, "nobody asked for it"
import numpy
java = session.spark._jvm.java
assert java.lang.Long.toString(numpy.int64(7)) == "7"
assert java.util.Arrays.toString(numpy.array([1, 2])) == "[1, 2]"
session.ensure_schema("analytics")
written = session.write("select 1 a", Destination(folder="data/t/w=x"))
field = Field(id="a", name="a", type="int")
mount = TableMount(id="m", folder="data/t", files=written.files, fields=(field,))
session.mount_table(RelationName("analytics", "t"), mount)
assert session.query("select * from analytics.t").fetch() == [(1,)]
for text in ("select * from nowhere", "select raise_error('x')", "selec"):
    try:
        session.query(text).fetch()
    except StatementError:
        pass
    else:
        raise AssertionError(text)
assert session.spark.sparkContext.pythonExec == sys.executable

early.join()
other.prepare()
other.close()
assert session.query("select count(*) from analytics.t").fetch() == [(1,)]

# Whoever else uses Spark here gets a session of their own, and ours stays as it is.
from pyspark.sql import SparkSession
theirs = SparkSession.builder.getOrCreate()
assert not theirs.catalog.databaseExists("analytics")
assert session.query("select count(*) from analytics.t").fetch() == [(1,)]

logging.basicConfig(level=logging.DEBUG, filename=repository / "log")
logging.getLogger("py4j").setLevel(logging.INFO)
SparkEngine(LocalBlobs(repository), settings={"spark.master": "local[7]"}).session("two")
assert "spark.master stays local[1]" in (repository / "log").read_text()
"""


def run(script: str, cwd: Path, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script, *arguments],
        cwd=cwd,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize("when", ["meanwhile", "after"])
def test_quiet_and_clean(tmp_path: Path, when: str) -> None:
    here, temporary, repository = (tmp_path / name for name in ("cwd", "tmp", "repo"))
    here.mkdir()
    temporary.mkdir()
    done = run(SCRIPT, here, str(repository), when, TMPDIR=str(temporary))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list(here.iterdir()) == [], "no metastore_db, derby.log or spark-warehouse"
    assert [path.name for path in temporary.iterdir() if path.name.startswith("dbt-vcs")] == []


LAUNCHED = """
import sys
from pathlib import Path
from dbt.adapters.vcs.core.store.local import LocalBlobs
from dbt.adapters.vcs.engines.factory import launch_process
from dbt.adapters.vcs.engines.spark import context
from dbt.adapters.vcs.engines.spark.engine import SparkEngine

blobs = LocalBlobs(Path(sys.argv[1]))
launch_process(blobs, settings={"spark.master": "local[1]"})
launched = context._LAUNCHES._found._process
if sys.argv[2] != "nobody":
    session = SparkEngine(blobs, settings={"spark.master": sys.argv[2]}).session("one")
    sc = session.spark.sparkContext
    print(sc.master, sc._gateway.proc is launched, session.query("select 1").fetch())
    launch_process(blobs, settings={"spark.master": "local[1]"})
    assert context._LAUNCHES._found is None
else:
    print(launched.pid)
"""


@pytest.mark.parametrize(
    ("needs", "said"),
    [("local[1]", "local[1] True [(1,)]"), ("local[2]", "local[2] False [(1,)]")],
)
def test_a_process_that_began_to_start_is_taken_up(tmp_path: Path, needs: str, said: str) -> None:
    (tmp_path / "tmp").mkdir()
    done = run(LAUNCHED, tmp_path, str(tmp_path / "repo"), needs, TMPDIR=str(tmp_path / "tmp"))
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{said}\n", "")
    left = [path.name for path in (tmp_path / "tmp").iterdir()]
    assert [name for name in left if name.startswith("dbt-vcs")] == []


def test_a_process_that_nobody_needs_ends_with_python(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    done = run(LAUNCHED, tmp_path, str(tmp_path / "repo"), "nobody", TMPDIR=str(tmp_path / "tmp"))
    assert (done.returncode, done.stderr) == (0, "")
    with pytest.raises(ProcessLookupError):
        os.kill(int(done.stdout), 0)
    left = [path.name for path in (tmp_path / "tmp").iterdir()]
    assert [name for name in left if name.startswith("dbt-vcs")] == []


def test_closed_engines_leave_no_record_of_statements(
    bench: Bench, engine_factory: Callable[..., Engine]
) -> None:
    """Each would record, and forget, all statements that the process runs later."""
    sc = bench.session.spark.sparkContext
    before = records(sc)
    for number in range(3):
        engine = engine_factory(bench.blobs)
        assert engine.session("another").query(f"select {number}").fetch() == [(number,)]
        engine.close()
    assert records(sc) == before


def records(context: Any) -> tuple[int, int, int]:
    """Return how many records of statements listen, and what Spark calls to clean up."""
    spark = context._jsc.sc()
    names = [each.getClass().getSimpleName() for each in spark.listenerBus().listeners()]
    store = spark.statusStore().store()
    kinds = field(store, "triggers").values().toSeq()
    triggers = sum(kinds.apply(n).triggers().size() for n in range(kinds.size()))
    return names.count("SQLAppStatusListener"), triggers, field(store, "flushTriggers").size()


def field(owner: Any, name: str) -> Any:
    found = owner.getClass().getDeclaredField(name)
    found.setAccessible(True)
    return found.get(owner)


def test_a_first_session_is_as_sparks_builder_makes_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another extension in a jar leaves it to the builder, which loads it."""
    sc = bench.session.spark.sparkContext
    options = {
        "spark.sql.shuffle.partitions": "3",
        "spark.sql.warehouse.dir": "file:/w",
        "own.x": "y",
    }
    direct = private_root(sc, options)
    assert context._extensions_of_jars(sc) == [context._ML_FUNCTIONS]
    monkeypatch.setattr(context, "_extensions_of_jars", lambda _: ["com.example.Another"])
    built = private_root(sc, options)
    one, other = (sorted(map(tuple, each.sql("set").collect())) for each in (direct, built))
    assert one == other
    assert set(options.items()) <= set(one)
    functions = "show functions"
    assert direct.sql(functions).collect() == built.sql(functions).collect()
    rules = [
        each._jsparkSession.sessionState().analyzer().batches().mkString("\n").count("Rule")
        for each in (direct, built)
    ]
    assert rules[0] == rules[1] > 0


EXTENDED = """
import sys
from pathlib import Path
from dbt.adapters.vcs.core.store.local import LocalBlobs
from dbt.adapters.vcs.engines.spark.context import java_class
from dbt.adapters.vcs.engines.spark.engine import SparkEngine

settings = {"spark.master": "local[1]", **dict([sys.argv[2:4]] if sys.argv[2:] else [])}
session = SparkEngine(LocalBlobs(Path(sys.argv[1])), settings=settings).session("one")
assert session.query("select 1").fetch() == [(1,)]
context = session.spark.sparkContext
catalyst = "org.apache.spark.sql.catalyst"
name = java_class(context, f"{catalyst}.FunctionIdentifier")("array_to_vector")
registry = java_class(context, f"{catalyst}.analysis.FunctionRegistry$")
internal = getattr(registry, "MODULE$").internal()
print(internal.functionExists(name))
# A Python model may use MLlib.
frames = session.frames()
from pyspark.ml.functions import array_to_vector
from pyspark.sql.functions import array, lit
[row] = frames.handle.range(1).select(array_to_vector(array(lit(2.0)))).collect()
print(row[0].toArray().tolist())
"""


@pytest.mark.parametrize("named", [True, False])
def test_extensions_that_settings_name_are_loaded(tmp_path: Path, named: bool) -> None:
    setting = ("spark.sql.extensions", context._ML_FUNCTIONS) if named else ()
    done = run(EXTENDED, tmp_path, str(tmp_path / "repo"), *setting)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [str(named), "[2.0]"]


START = """
import sys
from pathlib import Path
from dbt.adapters.vcs.core.errors import VcsError
from dbt.adapters.vcs.core.store.local import LocalBlobs
from dbt.adapters.vcs.engines.spark.engine import SparkEngine

try:
    SparkEngine(LocalBlobs(Path(sys.argv[1])), settings={sys.argv[2]: sys.argv[3]}).session("one")
except VcsError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("spark.driver.memory", "1k", "Too small maximum heap"),
        ("spark.master", "nonsense", "Master must"),
        ("spark.sql.catalogImplementation", "hive", "keeps its own catalog in memory"),
    ],
)
def test_spark_that_does_not_start(tmp_path: Path, key: str, value: str, words: str) -> None:
    done = run(START, tmp_path, str(tmp_path / "repo"), key, value)
    assert (done.returncode, done.stderr) == (0, "")
    assert words in done.stdout
    assert "Traceback" not in done.stdout and "\tat " not in done.stdout


THEIRS = """
import sys
from pathlib import Path
from pyspark.sql import SparkSession
from dbt.adapters.vcs.core.errors import VcsError
from dbt.adapters.vcs.core.store.local import LocalBlobs
from dbt.adapters.vcs.engines.spark.engine import SparkEngine

builder = SparkSession.builder.master("local[1]").config("spark.ui.port", "0")
theirs = builder.getOrCreate()
theirs.range(1).count()
try:
    session = SparkEngine(LocalBlobs(Path(sys.argv[1]))).session("one")
    tabs = theirs.sparkContext._jsc.sc().ui().get().getTabs()
    print([tabs.apply(n).prefix() for n in range(tabs.size())].count("SQL"))
    sys.modules["pandas"] = None
    print(session.query("select 1 a, array(2) b").arrow().to_pydict())
    theirs.sparkContext._gateway.proc.kill()
    session.query("select 1").fetch()
except VcsError as error:
    print(type(error).__name__, error)
"""


def test_spark_that_runs_already(tmp_path: Path) -> None:
    done = run(THEIRS, tmp_path, str(tmp_path / "repo"))
    pages, rows, error = done.stdout.splitlines()
    assert pages == "1", "Spark's pages show each statement once"
    assert rows == "{'a': [1], 'b': [[2]]}", "without pandas"
    assert error.startswith("EngineError Spark's process is gone")


def test_no_java(tmp_path: Path) -> None:
    done = run(START, tmp_path, str(tmp_path), "spark.ui.enabled", "false", JAVA_HOME="/nowhere")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("\n") == 1
    assert "apt-get install openjdk-17-jre-headless" in done.stdout
