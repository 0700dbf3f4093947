from __future__ import annotations

from pathlib import Path

import pytest

from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.opening import open_blobs
from tests.unit.cli.conftest import Call
from tests.unit.warehouse import Warehouse


def test_a_repository_is_made_where_told(call: Call, folder: Path) -> None:
    text = call("init", "new/place", "--default-branch", "trunk").stdout
    assert text == (
        f"Created an empty repository in {folder / 'new/place'}; its default branch is trunk.\n"
    )
    repository = Repository.open(open_blobs("new/place"))
    assert repository.objects.commit(repository.branch("trunk").head).author == "bob"
    call("init", "-r", "second")
    call("-r", "second", "status")


def test_a_repository_that_is_there_stays(vcs: Call, warehouse: Warehouse) -> None:
    head = warehouse.put(a="1")
    assert vcs("init").stdout.startswith("There is already a repository in ")
    assert (
        "default branch 'main'; expected 'trunk'"
        in vcs("init", "--default-branch", "trunk", code=2).stderr
    )
    assert warehouse.head() == head


def test_a_folder_of_other_things_is_left_alone(call: Call, folder: Path) -> None:
    (folder / "thesis.doc").write_text("precious")
    assert "thesis.doc" in call("init", ".", code=2).stderr
    assert [path.name for path in folder.iterdir()] == ["thesis.doc"]


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_says_what_there_is(call: Call, option: str) -> None:
    text = call(option).stdout
    for name in ("init", "status", "branch", "tag", "log", "show", "merge", "runs"):
        assert f"\n  {name} " in text
        assert "--repository" in call(name, option).stdout
    assert "Exit codes" in text
