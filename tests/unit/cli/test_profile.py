"""Which repository is meant: options, environment, or the dbt project's profile."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from dbt.adapters.vcs.commands.options import Settings
from dbt.adapters.vcs.commands.profile import read_target, target_folder
from dbt.adapters.vcs.commands.session import CommandSession
from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.engines import factory, methods
from dbt.adapters.vcs.engines.port import Engine
from tests.unit.cli.conftest import Call
from tests.unit.fake_engine import FakeEngine
from tests.unit.warehouse import Warehouse

PROFILES = """
shop:
  target: "{{ env_var('SHOP_TARGET', 'dev') }}"
  outputs:
    dev:
      type: vcs
      repository: ./warehouse
      branch: feature/tax
      schema: analytics
    prod:
      type: vcs
      repository: "{{ env_var('SHOP_REPOSITORY') }}"
      storage_options:
        aws_secret_access_key: "{{ env_var('DBT_ENV_SECRET_KEY', 'hidden') }}"
        allow_http: true
        timeout: 5
    plain: {type: vcs, schema: analytics}
    far: {type: vcs, schema: analytics, method: far, spark_config: {spark.master: "local[3]"}}
    spark: {type: spark, schema: analytics}
    odd: 7
"""


@pytest.fixture
def project(folder: Path) -> Path:
    (folder / "dbt_project.yml").write_text("name: shop\nprofile: shop\n")
    (folder / "profiles.yml").write_text(PROFILES)
    return folder


def status(call: Call, *arguments: str) -> dict[str, object]:
    found = json.loads(call("status", "--json", *arguments).stdout)
    assert isinstance(found, dict)
    return found


def test_the_profile_of_the_project_here_says_it(
    call: Call, project: Path, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    warehouse.branch("feature/tax")
    found = status(call)
    assert (found["repository"], found["branch"]) == (warehouse.blobs.uri, "feature/tax")
    below = project / "models" / "staging"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    assert status(call)["repository"] == warehouse.blobs.uri


def test_the_branch_of_the_profile_is_meant_where_none_is_given(
    call: Call, project: Path, warehouse: Warehouse
) -> None:
    warehouse.branch("feature/tax")
    warehouse.put("feature/tax", a="1", message="On tax")
    warehouse.put(b="1", message="On main")
    assert "On tax" in call("log", "-n", "1").stdout
    assert "On tax" in call("show").stdout
    assert "On tax" in call("show", "HEAD").stdout
    (current,) = (line for line in call("branch").stdout.splitlines() if line.startswith("*"))
    assert "feature/tax" in current
    assert call("merge", "main", "--dry-run").stdout.startswith(
        "Would merge main into feature/tax"
    )
    call("tag", "here")
    assert warehouse.repository.resolve("here") == warehouse.head("feature/tax")
    assert "On main" in call("log", "-n", "1", "--target", "plain").stdout


def test_options_win_over_the_environment_and_that_over_the_profile(
    call: Call, project: Path, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("first", "second"):
        call("init", name)
    monkeypatch.setenv("DBT_VCS_REPOSITORY", "first")
    found = status(call)
    assert (found["repository"], found["branch"]) == (str(project / "first"), "main")
    assert status(call, "-r", "second")["repository"] == str(project / "second")


def test_project_and_profiles_are_found_where_told(
    call: Call,
    project: Path,
    warehouse: Warehouse,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert "no dbt project" in call("status", code=2).stderr
    given = ("--project-dir", str(project))
    # A relative location is relative to the project, as it is for dbt.
    assert status(call, *given)["repository"] == warehouse.blobs.uri
    monkeypatch.setenv("DBT_PROJECT_DIR", str(project))
    assert status(call)["repository"] == warehouse.blobs.uri
    (elsewhere / "profiles.yml").write_text(PROFILES.replace("./warehouse", "./other"))
    assert "other is not a repository" in call("status", code=1).stderr
    assert status(call, "--profiles-dir", str(project))["repository"] == warehouse.blobs.uri
    monkeypatch.setenv("DBT_PROFILES_DIR", str(project))
    assert status(call)["repository"] == warehouse.blobs.uri


def test_the_home_folder_has_profiles_too(
    call: Call, project: Path, warehouse: Warehouse, tmp_path: Path
) -> None:
    home = tmp_path / "home" / ".dbt"
    home.mkdir(parents=True)
    (project / "profiles.yml").rename(home / "profiles.yml")
    assert status(call)["repository"] == warehouse.blobs.uri


def test_values_are_rendered_with_the_environment(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_TARGET", "prod")
    monkeypatch.setenv("SHOP_REPOSITORY", "s3://bucket/shop")
    monkeypatch.setenv("DBT_ENV_SECRET_KEY", "{{ precious }}")
    found = read_target(Settings())
    assert (found.repository, found.branch) == ("s3://bucket/shop", "main")
    assert found.storage_options == {
        "aws_secret_access_key": "{{ precious }}",
        "allow_http": "true",
        "timeout": "5",
    }


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("./x", "here/x"),
        ("../x", "here/../x"),
        ("/x/y", "/x/y"),
        ("~/x", "~/x"),
        ("gs://b/x", "gs://b/x"),
        ("file:///x", "file:///x"),
        ("file:/x", "file:/x"),
        ("memory://", "memory://"),
    ],
)
def test_relative_locations_are_relative_to_the_project(
    project: Path, monkeypatch: pytest.MonkeyPatch, given: str, expected: str
) -> None:
    monkeypatch.setenv("SHOP_REPOSITORY", given)
    found = read_target(Settings(profile_target="prod")).repository
    assert found == (str(project.parent / expected) if expected.startswith("here") else expected)


def test_a_location_has_the_default_that_dbt_gives_it(project: Path) -> None:
    assert read_target(Settings(profile_target="plain")).repository == str(project / "warehouse")


def test_a_command_computes_rows_where_the_profile_says(
    project: Path, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Mapping[str, object]] = []

    def far(blobs: Blobs, **settings: object) -> Engine:
        made.append(settings)
        return FakeEngine(blobs)

    with pytest.raises(InputError, match="method: far is unknown to type: vcs; expected session"):
        read_target(Settings(profile_target="far"))
    monkeypatch.setattr(factory, "_MAKERS", {"far": far})
    monkeypatch.setattr(methods, "METHODS", ("far",))
    session = CommandSession(Settings(profile_target="far"))
    assert isinstance(session.engine(), FakeEngine)
    assert [settings["settings"] for settings in made] == [{"spark.master": "local[3]"}]


def test_a_method_of_dbt_spark_is_refused_with_the_way_round(
    call: Call, project: Path, warehouse: Warehouse
) -> None:
    text = (project / "profiles.yml").read_text()
    thrift = "branch: feature/tax\n      method: thrift\n      host: http://spark\n      port: x"
    (project / "profiles.yml").write_text(text.replace("branch: feature/tax", thrift))
    for command in (("status",), ("log",), ("sql", "select 1")):
        told = call(*command, code=2).stderr
        assert "method: thrift is not supported by type: vcs" in told
        assert "set method: connect with host: sc://" in told
    status(call, "-r", "warehouse")


def test_storage_options_come_from_the_profile_and_the_command(
    call: Call, project: Path, warehouse: Warehouse
) -> None:
    text = (project / "profiles.yml").read_text()
    options = "branch: feature/tax\n      storage_options: {fsync: maybe}"
    (project / "profiles.yml").write_text(text.replace("branch: feature/tax", options))
    assert "fsync has another value; expected true or false" in call("status", code=2).stderr
    status(call, "--storage-option", "fsync=false")
    # What a profile says of its own repository is not meant for another one.
    status(call, "-r", "warehouse")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"profile_target": "nix"}, "no target 'nix' .*one of: dev, prod, plain, far, spark, odd"),
        ({"profile_target": "odd"}, "no target 'odd'"),
        ({"profile_target": "spark"}, "type: spark .*expected type: vcs"),
        ({"profile_target": "prod"}, "'SHOP_REPOSITORY' is not set"),
        ({"profile": "nix"}, "no profile 'nix'"),
        ({"profiles_dir": "nix"}, r"no profiles\.yml in nix"),
        ({"project_dir": "nix"}, "no dbt project in nix"),
    ],
)
def test_what_is_missing_is_named(project: Path, options: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_target(Settings(**options))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("dbt_project.yml", "name: shop", "names no profile"),
        ("dbt_project.yml", "- a", "no mapping"),
        ("dbt_project.yml", "", "names no profile"),
        ("profiles.yml", "shop: {outputs: {dev: {", "line 2 is not valid YAML"),
        ("profiles.yml", "shop: 7", "no profile 'shop'"),
        ("profiles.yml", "shop: {target: dev}", "no outputs"),
        (
            "profiles.yml",
            "shop: {outputs: {default: {type: vcs, repository: '{{ x() }}'}}}",
            "can't be rendered: 'x' is undefined",
        ),
        (
            "profiles.yml",
            "shop: {outputs: {default: {type: vcs, repository: '{{ x'}}}",
            "can't be rendered",
        ),
        (
            "profiles.yml",
            "shop: {outputs: {default: {type: vcs, storage_options: [x]}}}",
            "must map names to values",
        ),
    ],
)
def test_files_that_say_nothing_usable(project: Path, file: str, text: str, message: str) -> None:
    (project / file).write_text(text)
    with pytest.raises(InputError, match=message):
        read_target(Settings())


def test_a_file_that_is_no_text(project: Path) -> None:
    (project / "profiles.yml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="not UTF-8"):
        read_target(Settings())


def test_no_secret_gets_into_an_error(call: Call, project: Path) -> None:
    (project / "profiles.yml").write_text("shop:\n  password: hunter2: [\n")
    assert "hunter2" not in call("status", code=2).stderr
    (project / "profiles.yml").write_text(
        "shop: {outputs: {default: {type: vcs, repository: x, "
        "storage_options: {key: '{{ hunter2'}}}}"
    )
    assert "hunter2" not in call("status", code=2).stderr
    assert "hunter2" not in call("status", "--storage-option", "hunter2", code=2).stderr


@pytest.mark.parametrize("base", ["main", "trunk", "nowhere"])
def test_a_profile_whose_branch_is_gone_reads_what_it_would_start_from(
    call: Call, project: Path, warehouse: Warehouse, base: str
) -> None:
    (project / "profiles.yml").write_text(
        PROFILES.replace("feature/tax", f"gone\n      base: {base}")
    )
    warehouse.put(a="1")
    warehouse.branch("trunk")
    for words in (
        ("log",),
        ("cat", "shop.a", "--at", "main"),
        ("blame", "shop.a", "--key", "id=1"),
    ):
        done = call(*words, code=0)
        shown = "trunk" if base == "trunk" else "main"
        assert done.stderr == f"The profile's branch 'gone' does not exist: '{shown}' is shown.\n"
        assert done.stdout
    assert "no branch 'gone'" in call("revert", "main", code=1).stderr


def test_the_folder_that_dbt_writes_to_may_come_from_a_variable(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "name: shop\nprofile: shop\ntarget-path: \"{{ env_var('SHOP_OUT', 'out') }}\"\n"
    (project / "dbt_project.yml").write_text(said)
    settings = Settings(project_dir=str(project))
    assert target_folder(settings, None) == project / "out"
    monkeypatch.setenv("SHOP_OUT", "elsewhere")
    assert target_folder(settings, None) == project / "elsewhere"
