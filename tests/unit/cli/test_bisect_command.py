"""`dbt-vcs bisect`: its lines, its JSON, its exit codes, and what it says of wrong use."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.warehouse import Warehouse

from .conftest import Call

NO_BAD = "select count(*) = 0 from shop.t where v = 'bad'"


@pytest.fixture
def broken(warehouse: Warehouse) -> Warehouse:
    """A good commit with a tag, one without the table u, and a bad one."""
    warehouse.put(t="good", u="good")
    warehouse.repository.create_tag("v1", warehouse.head(), author="ann")
    warehouse.put(u=None, message="Drop u")
    warehouse.put(t="bad", u="bad", message="dbt build --target prod")
    return warehouse


def test_the_first_bad_commit_and_the_next_step(broken: Warehouse, vcs: Call) -> None:
    head = broken.head()[:12]
    first, changed, counts, step = vcs("bisect", "v1", "--sql", NO_BAD).output.splitlines()
    assert first.startswith(f"{head} is the first bad commit: dbt build --target prod  ann, ")
    assert changed.startswith("  shop.t ") and " -> " in changed
    assert counts == "2 looks; 2 commits between good and bad"
    assert step == f"Next: dbt-vcs -r warehouse diff {head}^..{head} shop.t"
    told = json.loads(vcs("bisect", "v1", "main", "--sql", NO_BAD, "--json").output)
    assert told["first_bad"]["commit"] == broken.head()
    assert (told["looks"], told["candidates"]) == (2, [])
    assert vcs("diff", f"{head}^..{head}", "shop.t", code=1).output, "the next step works"


def test_several_commits_that_may_be_it(broken: Warehouse, vcs: Call) -> None:
    lines = vcs("bisect", "v1", "--sql", "select v from shop.u where v = 'bad'", code=1).output
    assert lines.splitlines()[0].startswith("The first bad commit is one of these")
    assert "Drop u" in lines and "  skipped: there is no shop.u" in lines
    assert "2 looks; 2 commits between good and bad" in lines


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("v1",), 2, "either --sql CONDITION or --test NAME"),
        (("v1", "--sql", NO_BAD, "--test", "t"), 2, "either --sql CONDITION or --test NAME"),
        (("v2", "--sql", NO_BAD), 1, "'v2'"),
        (("main", "--sql", NO_BAD), 2, "are the same commit"),
        (("v1", "main", "--test", "t"), 2, "found no such file. Run dbt compile"),
    ],
)
def test_wrong_use(
    broken: Warehouse, vcs: Call, arguments: tuple[str, ...], code: int, words: str
) -> None:
    assert words in vcs("bisect", *arguments, code=code).output


def test_the_projects_folder_for_what_dbt_writes(
    broken: Warehouse, vcs: Call, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    test = {
        "resource_type": "test",
        "unique_id": "test.shop.no_bad",
        "name": "no_bad",
        "compiled_code": "select * from shop.t where v = 'bad'",
    }
    out = folder / "out"
    out.mkdir()
    (out / "manifest.json").write_text(json.dumps({"nodes": {"a": test}}))
    assert "target/manifest.json" in vcs("bisect", "v1", "--test", "no_bad", code=2).output
    (folder / "dbt_project.yml").write_text("target-path: out\n")
    assert "is the first bad commit" in vcs("bisect", "v1", "--test", "no_bad").output
    (folder / "dbt_project.yml").unlink()
    monkeypatch.setenv("DBT_TARGET_PATH", str(out))
    assert "is the first bad commit" in vcs("bisect", "v1", "--test", "no_bad").output
