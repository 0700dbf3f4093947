"""A table's name without a schema is completed by the profile's schema, whatever the verb."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.project.operations import Caller, prepare_operation
from tests.unit.cli import scenes as at
from tests.unit.cli.conftest import Call
from tests.unit.cli.scenes import Scene
from tests.unit.warehouse import Warehouse


def named(scene: Scene) -> None:
    """A table has two named snapshots, of which one is protected."""
    at.history(scene)
    for name in ("first", "kept"):
        scene.vcs("snapshot", "create", "shop.a", name)
    scene.vcs("snapshot", "protect", "shop.a", "kept")


CASES = [
    (at.history, "diff main~1 main shop.a", 1),
    (at.history, "diff main~1..main shop.a", 1),
    (at.history, "diff main...dev shop.c", 1),
    (at.history, "diff main~1 shop.a", 1),
    (at.history, "diff main~1 shop.v", 0),
    (at.history, "diff shop.a", 0),
    (at.history, "diff shop.a@main~1", 1),
    (at.history, "diff shop.a@main~1 shop.b@main", 1),
    (at.history, "diff main~1 main shop.a --stat", 1),
    (at.history, "diff main~1 main shop.a --json", 1),
    (at.history, "diff main~1 main `shop`.`a`", 1),
    (at.history, "diff HEAD~1 shop.a", 1),
    (named, "diff shop.a@first", 0),
    (at.history, "cat shop.a", 0),
    (at.history, "cat shop.a --at main~1", 0),
    (at.history, "cat main~1:shop.a", 0),
    (at.history, "blame shop.a --key id=1", 0),
    (at.history, "blame shop.a --key id=1 --at main~1", 0),
    (at.history, "log shop.a", 0),
    (at.history, "log main shop.a", 0),
    (at.history, "log main~1..main shop.a", 0),
    (at.history, "log --relation shop.a", 0),
    (at.history, "log --all --relation shop.c", 0),
    (at.history, "log shop.a --graph", 2),
    (at.history, "lineage shop.a", 0),
    (at.history, "lineage shop.a@main~1", 0),
    (at.history, "lineage shop.a --forward", 0),
    (at.history, "clone shop.a shop.n", 0),
    (at.history, "clone shop.a other.n main~1", 0),
    (at.history, "clone shop.c shop.b dev --replace --branch dev", 0),
    (at.history, "restore shop.a --to main~1", 0),
    (at.history, "restore shop.a --to main~1 --dry-run", 0),
    (at.dropped, "restore shop.dropped --branch dev", 0),
    (at.history, "restore shop.never", 1),
    (at.history, "snapshot create shop.a first", 0),
    (named, "snapshot list shop.a", 0),
    (named, "snapshot delete shop.a first", 0),
    (named, "snapshot protect shop.a first", 0),
    (named, "snapshot unprotect shop.a kept", 0),
    (at.whole, "optimize shop.a", 0),
    (at.whole, "optimize shop.a,shop.a --branch dev", 0),
    (at.whole, "purge shop.a --where 'id = 1' --dry-run", 0),
    (at.real_purge, "purge shop.a --where 'id = 1'", 0),
    (at.waiting, "conflicts main --relation shop.a", 0),
    (at.waiting, "conflicts --relation shop.a --json", 0),
    (at.waiting, "conflicts --relation shop.never", 2),
    (at.waiting, "resolve shop.a main --with ours", 0),
    (at.waiting, "resolve shop.a --key id=1 --set v=x", 0),
    (at.waiting, "resolve shop.dropped --with theirs", 0),
]


@pytest.fixture
def target(warehouse: Warehouse, call: Call, tmp_path: Path) -> Call:
    """Run the command by a profile whose schema is `shop`."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "dbt_project.yml").write_text("name: shop\nprofile: shop\n")
    output = f"{{type: vcs, schema: shop, repository: {warehouse.blobs.uri}, branch: main}}"
    (project / "profiles.yml").write_text(f"shop: {{target: x, outputs: {{x: {output}}}}}\n")
    return lambda *words, code=0: call(*words, "--project-dir", str(project), code=code)


@pytest.mark.parametrize(("given", "line", "code"), CASES, ids=[case[1] for case in CASES])
def test_a_bare_name_is_the_full_name(
    given: Callable[[Scene], object],
    line: str,
    code: int,
    target: Call,
    vcs: Call,
    warehouse: Warehouse,
    folder: Path,
) -> None:
    given(Scene(warehouse, folder, vcs))
    store = folder / "warehouse"
    shutil.copytree(store, folder / "again")
    full = target(*shlex.split(line), code=code).output
    # The same repository for both.
    shutil.rmtree(store)
    (folder / "again").rename(store)
    bare = line.replace("`shop`.", "").replace("shop.", "")
    assert _without_ids(target(*shlex.split(bare), code=code).output) == _without_ids(full)


def test_a_word_that_is_a_branch_stays_one(target: Call, vcs: Call, warehouse: Warehouse) -> None:
    at.history(Scene(warehouse, Path(), vcs))
    warehouse.branch("a", "dev")
    for verb, code in (("diff", 1), ("log", 0)):
        assert target(verb, "a", code=code).output == target(verb, "heads/a", code=code).output
    assert "shop.c" in target("diff", "main", "a", code=1).output


def test_the_target_of_resolve_stays_a_branch(
    target: Call, vcs: Call, warehouse: Warehouse
) -> None:
    at.waiting(Scene(warehouse, Path(), vcs))
    assert "shop.a" not in target("resolve", "--all", "--with", "ours", "main").output
    assert "Took back" in target("resolve", "--undo", "main").output
    assert "a" in target("conflicts", "main").output


@pytest.mark.parametrize(
    "line",
    (
        "blame a --key id=1",
        "log main a",
        "log --relation a",
        "lineage a",
        "clone a shop.n",
        "clone shop.a n",
        "restore a --to main~1",
        "snapshot create a first",
        "snapshot list a",
        "optimize a",
        "purge a --where 'id = 1'",
    ),
)
def test_without_a_profile_a_name_needs_its_schema(
    line: str, vcs: Call, warehouse: Warehouse
) -> None:
    at.history(Scene(warehouse, Path(), vcs))
    said = vcs(*shlex.split(line), code=2).output
    assert re.search("Expected schema.table, found '[an]'. Name the table with its schema", said)


@pytest.mark.parametrize(
    "line",
    (
        "blame far --key id=1",
        "cat far",
        "log far",
        "log --relation far",
        "lineage far",
        "restore far --to main",
        "diff main main far",
        "clone far near",
        "snapshot create far first",
        "optimize far",
        "purge far --where 'id = 1'",
    ),
)
def test_a_table_of_another_schema_is_named(
    line: str, target: Call, vcs: Call, warehouse: Warehouse
) -> None:
    at.history(Scene(warehouse, Path(), vcs))
    warehouse.put(schema="other", far="1")
    code = 2 if line.startswith("diff") else 1
    assert "Did you mean other.far?" in target(*shlex.split(line), code=code).output
    said = target(*shlex.split(line.replace("far", "other.far", 1)), code=0).output
    assert "Did you mean" not in said


def test_a_table_of_two_other_schemas_is_not_guessed(
    target: Call, vcs: Call, warehouse: Warehouse
) -> None:
    at.history(Scene(warehouse, Path(), vcs))
    for schema in ("one", "two"):
        warehouse.put(schema=schema, far="1")
    assert "Did you mean one" not in target("cat", "far", code=1).output


def test_the_hint_is_in_the_json_of_an_error(
    target: Call, vcs: Call, warehouse: Warehouse
) -> None:
    at.history(Scene(warehouse, Path(), vcs))
    warehouse.put(schema="other", far="1")
    said = target("lineage", "far", "--json", code=1).stdout
    assert json.loads(said)["message"].endswith("Did you mean other.far?")


def test_an_operation_takes_the_schema_of_dbt(warehouse: Warehouse, vcs: Call) -> None:
    at.history(Scene(warehouse, Path(), vcs))
    caller = Caller(repository=warehouse.repository, author="ann", branch="main", schema="shop")

    def said(relation: str) -> list[str]:
        return prepare_operation(caller, "log", {"relation": relation})()

    assert said("a") == said("shop.a")
    with pytest.raises(InputError, match=r"changed shop\.never"):
        said("never")


def _without_ids(text: str) -> str:
    """Return an output without what differs between two calls: ids, times and their alignment."""
    return re.sub(r" +", " ", re.sub(r"\b[0-9a-f]{12,64}\b|\d+ (second|ms)\w*", "…", text))
