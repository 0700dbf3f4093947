from __future__ import annotations

from pathlib import Path

import pytest
import yaml

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


def test_a_project_is_made_with_its_repository(call: Call, folder: Path) -> None:
    (folder / "shop/.git").mkdir(parents=True)
    text = call("init", "--project", "shop").stdout
    assert f"Created an empty repository in {folder / 'shop/warehouse'};" in text
    assert text.endswith(f"project shop in {folder / 'shop'}. Build it:\n  cd shop && dbt build\n")
    outputs = yaml.safe_load((folder / "shop/profiles.yml").read_text())["shop"]["outputs"]
    assert {output["repository"] for output in outputs.values()} == {"./warehouse"}
    assert outputs["prod"]["branch"] == "main"
    settings = yaml.safe_load((folder / "shop/dbt_project.yml").read_text())
    assert (settings["name"], settings["profile"]) == ("shop", "shop")
    assert "target/" in (folder / "shop/.gitignore").read_text().splitlines()
    written = "".join(path.read_text() for path in (folder / "shop").glob("*.yml"))
    assert not any(word in written for word in ("PROJECT", "REPOSITORY", "DEFAULT_BRANCH"))


def test_a_project_gets_the_repository_that_is_named(call: Call, folder: Path) -> None:
    call("init", "../a: b", "--default-branch", "trunk", "--project", "one")
    call("init", "-r", "second", "--project", "two")
    for name, place, branch in (
        ("one", folder.parent / "a: b", "trunk"),
        ("two", "second", "main"),
    ):
        profile = yaml.safe_load((folder / name / "profiles.yml").read_text())[name]
        output = profile["outputs"]["prod"]
        assert (Path(output["repository"]).resolve(), output["branch"]) == (folder / place, branch)
        assert not (folder / name / "warehouse").exists()
        Repository.open(open_blobs(output["repository"]))


@pytest.mark.parametrize("held", ["models", "dbt_project.yml"])
def test_a_project_is_not_written_over_another(call: Call, folder: Path, held: str) -> None:
    (folder / "shop").mkdir()
    (folder / "shop" / held).write_text("mine")
    said = call("init", "--project", "shop", code=2).stderr
    assert f"found {held}. Nothing was changed." in said
    assert [path.name for path in (folder / "shop").iterdir()] == [held]
    (folder / "file").write_text("mine")
    assert "found a file." in call("init", "--project", "file", code=2).stderr


def test_a_project_has_a_name_that_dbt_takes(call: Call, folder: Path) -> None:
    assert "found 'my-shop'" in call("init", "--project", "my-shop", code=2).stderr
    assert "found '1a'" in call("init", "--project", "1a", code=2).stderr
    assert list(folder.iterdir()) == []


def test_secrets_stay_out_of_a_new_profile(call: Call, folder: Path) -> None:
    words = (
        "--storage-option",
        "aws_secret_access_key=x",
        "init",
        "s3://a/b",
        "--project",
        "shop",
    )
    assert "values may be secret" in call(*words, code=2).stderr
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_says_what_there_is(call: Call, option: str) -> None:
    text = call(option).stdout
    for name in ("init", "status", "branch", "tag", "log", "show", "merge", "runs"):
        assert f"\n  {name} " in text
        assert "--repository" in call(name, option).stdout
    assert "Exit codes" in text
