"""When the engine starts before it is needed: what the last build tells of the next one."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

from dbt.adapters.vcs.core.errors import EngineError
from dbt.adapters.vcs.project.early_start import (
    EarlyStart,
    LastBuild,
    digest_of_files,
    starts_early,
)
from dbt.adapters.vcs.project.invocation import Invocation


@pytest.fixture
def project(tmp_path):
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "m.sql").write_text("select 1")
    return tmp_path


def invocation(root, command="build", **facts):
    return Invocation(
        id="i",
        command=command,
        target="dev",
        project_root=root,
        retry_of=None,
        author="a",
        dbt_version="1",
        **facts,
    )


def build(root, *, computed, variables=None, error=None, is_new=False, **facts):
    """Go through a build; return whether the engine started early."""
    prepared = threading.Event()

    def prepare():
        prepared.set()
        if error is not None:
            raise error

    config = SimpleNamespace(model_paths=["models"], target_path="target", cli_vars=variables)
    start = EarlyStart(config, invocation(root, **facts), prepare, lambda: is_new)
    [thread] = [item for item in threading.enumerate() if item.name == "vcs-early-start"] or [None]
    if thread is not None:
        thread.join()
    start.end(computed=computed)
    return prepared.is_set()


def test_nothing_starts_early_where_nothing_is_known_or_nothing_changed(project):
    assert not build(project, computed=True)
    assert not build(project, computed=True)
    assert not build(project, computed=False)
    assert not build(project, computed=False)


def test_a_new_repository_starts_it_if_nothing_is_known(project):
    assert build(project, computed=True, is_new=True)
    assert not build(project, computed=True, is_new=True)


def test_a_changed_project_starts_it(project):
    build(project, computed=False)
    (project / "models" / "m.sql").write_text("select 2")
    assert build(project, computed=True)
    (project / "models" / "n.sql").write_text("select 3")
    assert build(project, computed=True)
    (project / "models" / "n.sql").unlink()
    assert build(project, computed=True)
    assert build(project, computed=True, variables={"day": "2024-01-01"})
    assert not build(project, computed=True, variables={"day": "2024-01-01"})


def test_a_project_that_always_needs_it_starts_it(project):
    assert [build(project, computed=True) for _ in range(5)] == [False] * 3 + [True] * 2
    assert build(project, computed=False)
    assert not build(project, computed=False)


@pytest.mark.parametrize("facts", [{"refreshes": True}, {"reuse": "verify"}, {"reuse": False}])
def test_a_build_that_computes_everything_starts_it(project, facts):
    assert build(project, computed=True, **facts)


def test_a_start_that_fails_is_not_the_builds_error(project):
    build(project, computed=True)
    (project / "models" / "m.sql").write_text("select 2")
    assert build(project, computed=False, error=EngineError("no Java"))
    assert not build(project, computed=False)


def test_what_the_folder_keeps_may_be_anything(project):
    place = project / "target" / "vcs_last_build.json"
    for text in ("", "[]", "{}", '{"files": 1}', "\x00"):
        place.parent.mkdir(exist_ok=True)
        place.write_text(text)
        assert LastBuild.load(place) is None
        assert not build(project, computed=False)
        assert LastBuild.load(place) is not None


def test_large_files_count_by_size_and_time(project):
    large = project / "models" / "large.csv"
    large.write_bytes(b"a" * (2**20 + 1))
    before = digest_of_files(project, ["models"], None)
    assert digest_of_files(project, ["models"], None) == before
    large.write_bytes(b"a" * (2**20 + 2))
    assert digest_of_files(project, ["models"], None) != before


@pytest.mark.parametrize(
    ("command", "method", "expected"),
    [
        ("build", "session", True),
        ("run", "session", True),
        ("test", "session", True),
        ("snapshot", "session", True),
        ("seed", "session", False),
        ("build", "connect", False),
        ("parse", "session", False),
        ("list", "session", False),
        ("compile", "session", False),
        ("docs generate", "session", False),
        ("run-operation", "session", False),
        ("", "session", False),
    ],
)
def test_only_commands_that_build_may_start_it(tmp_path, command, method, expected):
    assert starts_early(invocation(tmp_path, command), method) is expected
