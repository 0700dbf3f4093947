"""Profiles and repositories that are wrong: one clear sentence, and nothing is lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def shop(make_project):
    project = make_project({"seeds/raw.csv": "id\n1\n", "models/one.sql": "select 1 as id"})
    project.dbt("seed")
    return project


@pytest.fixture
def output(shop):
    """The profile's output, put back afterwards."""
    before = dict(shop.output)
    yield shop.output
    shop.output.clear()
    shop.output.update(before)
    shop.configure()


def every_file(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"schema": None}, "has no schema"),
        ({"schema": ""}, "has no schema"),
        ({"publish": "sometimes"}, "expected one of on_success, after_tests, manual, always"),
        ({"method": "thrift", "auth": "NOSASL"}, "set method: connect with host: sc://"),
        ({"method": "sesion"}, "did you mean session?"),
        ({"database": "other"}, "Leave database out"),
        ({"brnach": "dev"}, "did you mean branch?"),
        ({"catalog": "a"}, "catalog is unknown to type: vcs; expected auto_optimize, base"),
        ({"host": "example.org"}, "needs method: connect; the profile has method: session"),
        ({"branch": "dev", "base": "no/such"}, "no/such"),
        ({"spark_config": {"spark.sql.catalogImplementation": "hive"}}, "catalogImplementation"),
        ({"repository": "ftp://somewhere/x"}, "ftp"),
    ],
)
def test_wrong_values_are_named(shop, output, changes, text):
    before = every_file(shop.root)
    for key, value in changes.items():
        output.pop(key, None)
        if value is not None:
            output[key] = value
    shop.configure()
    command = "run" if "spark_config" in changes else "seed"
    ran = shop.dbt(command, ok=False)
    assert text in ran.error + str(ran.nodes), ran.error
    assert every_file(shop.root) == before


@pytest.mark.parametrize("command", ["debug", "run", "compile", "parse"])
def test_a_method_of_dbt_spark_is_refused_by_each_command(shop, output, command):
    before = every_file(shop.root)
    output.update(method="thrift", host="spark.example.com", port=10001, auth="NOSASL")
    shop.configure()
    ran = shop.dbt(command, ok=False)
    told = ran.said + ran.error
    assert "method: thrift is not supported by type: vcs" in told
    assert "start-connect-server.sh" in told
    assert every_file(shop.root) == before


def test_a_folder_of_other_things_is_left_alone(shop, output, tmp_path):
    (tmp_path / "important.txt").write_text("mine")
    output["repository"] = str(tmp_path)
    shop.configure()
    for command in ("seed", "debug", "ls", "compile"):
        ran = shop.dbt(command, ok=None)
        if command in ("seed", "debug"):
            assert not ran.success
            assert (
                "other things" in ran.said + ran.error
                or "not a repository" in ran.said + ran.error
            )
        assert every_file(tmp_path) == {str(tmp_path / "important.txt"): b"mine"}


def test_a_file_is_no_repository(shop, output, tmp_path):
    (tmp_path / "file").write_text("mine")
    output["repository"] = str(tmp_path / "file")
    shop.configure()
    assert "file" in shop.dbt("seed", ok=False).error
    assert every_file(tmp_path) == {str(tmp_path / "file"): b"mine"}


@pytest.mark.parametrize(
    ("header", "text"),
    [
        (lambda old: json.dumps({**old, "format": 99}), "Upgrade dbt-vcs"),
        (lambda old: "{", "vcs.json"),
        (lambda old: "", "vcs.json"),
        (lambda old: "[]", "vcs.json"),
    ],
)
def test_a_header_that_is_not_ours_is_told(shop, header, text):
    path = shop.root / "vcs.json"
    before = path.read_text()
    path.write_text(header(json.loads(before)))
    try:
        changed = every_file(shop.root)
        ran = shop.dbt("seed", ok=False)
        assert text.lower() in ran.error.lower(), ran.error
        assert every_file(shop.root) == changed
    finally:
        path.write_text(before)


@pytest.mark.parametrize("harm", [b"", b"damaged", None])
def test_a_damaged_object_is_told(shop, harm):
    ref = shop.repository.tree(shop.head()).schema_ref("analytics").id
    (path,) = shop.root.rglob(f"*{ref}")
    before = path.read_bytes()
    path.unlink() if harm is None else path.write_bytes(harm)
    try:
        changed = every_file(shop.root)
        ran = shop.dbt("seed", ok=False)
        assert ref[:12] in ran.error, ran.error
        assert "backup" in ran.error
        assert every_file(shop.root) == changed
    finally:
        path.write_bytes(before)
    shop.dbt("seed")


def test_a_lost_data_file_is_told(shop):
    shop.write({"models/reading.sql": "select * from {{ ref('raw') }}"})
    (block,) = shop.blocks("raw")
    path = shop.root / block.path
    before = path.read_bytes()
    path.unlink()
    ran = shop.dbt("run", "--select", "reading", ok=False)
    assert "backup" in ran.message("reading")
    path.write_bytes(before)
    shop.dbt("run", "--select", "reading")
    shop.remove("models/reading.sql")


def test_debug_is_content(shop):
    head = shop.head()
    ran = shop.dbt("debug")
    assert "All checks passed!" in ran.said
    for line in ("repository:", "branch: main", "schema: analytics", "publish: on_success"):
        assert line in ran.said
    assert "secret" not in ran.said
    assert shop.head() == head


def test_without_java_one_sentence_says_what_to_do(shop, tmp_path):
    env = {k: v for k, v in os.environ.items() if k not in ("JAVA_HOME", "SPARK_HOME")}
    done = subprocess.run(
        [sys.executable, "-m", "dbt.cli.main", "run", "--profiles-dir", "."],
        cwd=shop.folder,
        env={**env, "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "Spark needs Java 17 or later" in done.stdout
    assert "JAVA_HOME" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
