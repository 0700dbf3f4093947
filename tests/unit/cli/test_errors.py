"""Each thing that can be wrong gets one clear message, an exit code, and no traceback."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from dbt.adapters.vcs.cli import main
from dbt.adapters.vcs.core.errors import DamagedError
from dbt.adapters.vcs.core.repository import Repository
from tests.unit.cli.conftest import Call
from tests.unit.warehouse import Warehouse


def said(call: Call, *arguments: str, code: int) -> str:
    result = call(*arguments, code=code)
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("show", "nix"),
        ("log", "nix"),
        ("log", "main..nix"),
        ("merge", "nix", "main"),
        ("merge", "main", "nix"),
        ("branch", "create", "x", "nix"),
        ("branch", "delete", "nix"),
        ("tag", "v1", "nix"),
        ("tag", "delete", "nix"),
        ("runs", "discard", "nix"),
        ("runs", "publish", "nix"),
        ("show", "main~9"),
        ("show", "main@{9}"),
    ],
)
def test_what_is_not_there(vcs: Call, arguments: tuple[str, ...]) -> None:
    text = said(vcs, *arguments, code=1)
    assert "nix" in text or "main" in text


def test_an_unknown_branch_brings_near_ones(vcs: Call, warehouse: Warehouse) -> None:
    warehouse.branch("feature/tax")
    assert "Did you mean 'feature/tax'" in said(vcs, "show", "feature/tex", code=1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("branch", "create", "main"), "already a branch 'main'"),
        (("branch", "create", "runs/x"), "runs/ is where dbt runs keep"),
        (("branch", "create", ""), "1 to 200"),
        (("branch", "create", "a\nb"), "control character"),
        (("branch", "delete", "main"), "default branch"),
        (("show", "main@{soon}"), "neither a number of moves nor a moment"),
        (("log", "--relation", "a.b.c"), "Expected schema.table"),
        (("runs", "publish", ""), "empty"),
    ],
)
def test_what_can_not_be_done(vcs: Call, arguments: tuple[str, ...], message: str) -> None:
    assert message in said(vcs, *arguments, code=2)


@pytest.mark.parametrize(
    "arguments",
    [
        ("nix",),
        ("branch", "rename"),
        ("merge",),
        ("log", "-n", "many"),
        ("log", "-n", "-1"),
        ("log", "--nix"),
        ("--storage-option", "x", "log"),
    ],
)
def test_wrong_usage(vcs: Call, arguments: tuple[str, ...]) -> None:
    result = vcs(*arguments, code=2)
    assert result.stdout == ""
    assert "Usage: " in result.stderr


def test_names_that_try_tricks_stay_inside_the_repository(
    vcs: Call, warehouse: Warehouse, folder: Path
) -> None:
    before = sorted(folder.rglob("*"))
    odd = ["../../x", "..", "/etc/passwd", "a b", "Ü/ñ", "UPPER", "-rx", "x" * 200, "a..b"]
    head = warehouse.head()
    for name in odd:
        # As versions before the rules of names made them.
        warehouse.repository.create_branch(name, head, author="ann", check=False)
    outside = [path for path in folder.rglob("*") if path not in before]
    places = [folder / "warehouse" / "refs", folder / "warehouse" / "creating"]
    assert all(
        path in places or any(place in path.parents for place in places) for path in outside
    )
    listed = {row["name"] for row in json.loads(vcs("branch", "--json").stdout)}
    assert listed == {*odd, "main"}
    for name in odd:
        vcs("show", "--", f"heads/{name}")
        vcs("log", "--", name)
        vcs("diff", "--", name)
        vcs("branch", "rename", "--", name, "plain")
        vcs("branch", "rename", "plain", "plainer")
        vcs("branch", "delete", "plainer")
    for name in ("../../x", "..", "/etc/passwd", "a b", "-rx", "a..b"):
        for noun in ("branch", "tag"):
            result = vcs(noun, "create", "--", name, code=2)
            assert "can't be given" in result.stderr


def test_a_folder_that_is_no_repository(call: Call, folder: Path) -> None:
    (folder / "other").mkdir()
    for place in ("other", "missing"):
        text = said(call, "-r", place, "status", code=1)
        assert f"{folder / place} is not a repository: there is no vcs.json in it" in text
    assert not (folder / "missing").exists()


def test_a_scheme_that_is_not_known(call: Call) -> None:
    assert "ftp://, which is not known" in said(call, "-r", "ftp://x/y", "status", code=2)


def test_no_repository_at_all(call: Call, folder: Path) -> None:
    text = said(call, "status", code=2)
    assert "no dbt project" in text
    assert "--repository" in text


def test_a_newer_format(vcs: Call, folder: Path) -> None:
    header = folder / "warehouse" / "vcs.json"
    header.write_text(json.dumps({**json.loads(header.read_text()), "format": 7}))
    text = said(vcs, "branch", code=2)
    assert "version 7" in text
    assert "pip install --upgrade dbt-vcs" in text


def test_a_damaged_header(vcs: Call, folder: Path) -> None:
    (folder / "warehouse" / "vcs.json").write_text("{")
    assert "backup" in said(vcs, "branch", code=2)


def objects(folder: Path, kind: str) -> list[Path]:
    return [path for path in (folder / "warehouse/objects" / kind).rglob("*") if path.is_file()]


def damage(folder: Path, kind: str, how: str) -> None:
    for path in objects(folder, kind):
        path.unlink() if how == "missing" else path.write_bytes(b'{"x": 1}')


@pytest.mark.parametrize("kind", ["commit", "tree"])
@pytest.mark.parametrize("how", ["broken", "missing"])
def test_a_damaged_object(
    vcs: Call, warehouse: Warehouse, folder: Path, kind: str, how: str
) -> None:
    warehouse.put(a="1")
    damage(folder, kind, how)
    text = said(vcs, "show", "main", code=2)
    assert f"The {kind} " in text
    assert "backup" in text


@pytest.mark.parametrize("kind", ["snapshot", "segment"])
@pytest.mark.parametrize("how", ["broken", "missing"])
def test_a_damaged_version_is_shown_with_its_commit_and_named_by_fsck(
    vcs: Call, warehouse: Warehouse, folder: Path, kind: str, how: str
) -> None:
    warehouse.put(a="1")
    # Of a table that wasn't there before, the rows are counted without its segments.
    warehouse.put(a="2")
    damage(folder, kind, how)
    assert "changed  table  shop.a  rows of 1 damaged version not counted" in vcs("show").stdout
    assert kind in vcs("fsck", code=2).stdout


def test_a_missing_move_of_a_ref(vcs: Call, warehouse: Warehouse, folder: Path) -> None:
    warehouse.put(a="1")
    (move,) = (folder / "warehouse/refs/heads/main").glob("*1")
    move.write_bytes(b"nonsense")
    assert "backup" in said(vcs, "show", "main@{1}", code=2)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may read and write all")
def test_no_permission(vcs: Call, folder: Path) -> None:
    heads = folder / "warehouse" / "refs" / "heads"
    heads.chmod(0o555)
    try:
        assert "No permission to write" in said(vcs, "branch", "create", "x", code=2)
    finally:
        heads.chmod(0o755)


def test_a_store_that_refuses(vcs: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("dbt.adapters.vcs.core.store.local.os.link", refuse)
    assert "No permission" in said(vcs, "branch", "create", "x", code=2) or os.name == "nt"


def test_a_full_disk_loses_nothing(
    vcs: Call, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    warehouse.branch("x")
    warehouse.put("x", a="1")
    head = warehouse.head()

    def full(*args: object, **kwargs: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("dbt.adapters.vcs.core.store.local.os.link", full)
        assert "No space left" in said(vcs, "merge", "x", "main", code=2)
    assert warehouse.head() == head
    vcs("merge", "x", "main")


def test_what_nobody_expects_is_a_message_too(vcs: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object, **kwargs: object) -> None:
        raise KeyError("x")

    monkeypatch.setattr(Repository, "each_branch", fail)
    text = said(vcs, "branch", code=2)
    assert "failed unexpectedly: KeyError: 'x'" in text
    assert "--debug" in text


def test_ctrl_c_ends_quietly(vcs: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*args: object, **kwargs: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Repository, "each_branch", stop)
    assert vcs("branch", code=130).stderr == "Stopped.\n"


@pytest.mark.parametrize("place", ["before", "after"])
def test_debug_lets_the_error_through(warehouse: Warehouse, folder: Path, place: str) -> None:
    (folder / "warehouse" / "vcs.json").write_text("{")
    options = ["-r", "warehouse", "--debug"]
    arguments = [*options, "branch"] if place == "before" else ["branch", *options]
    assert isinstance(CliRunner().invoke(main, arguments).exception, DamagedError)


def test_text_of_others_can_not_steer_the_terminal(vcs: Call, warehouse: Warehouse) -> None:
    warehouse.put(a="1", message="Red \x1b[31malert\x1b[0m\rgone")
    for command in ("log", "show", "branch", "status"):
        text = vcs(command).stdout
        assert "\x1b" not in text
        assert "\r" not in text
        assert "\\x1b[31malert" in text


def test_a_machine_is_told_of_errors_too(vcs: Call, warehouse: Warehouse) -> None:
    warehouse.put(a="1")
    warehouse.branch("x")
    warehouse.put("x", a="2")
    warehouse.put(a="3")
    done = vcs("merge", "x", "main", "--json", code=1)
    told = json.loads(done.stdout)
    assert (told["error"], told["exit_code"]) == ("conflict", 1)
    assert "dbt-vcs -r warehouse resolve" in told["message"]
    assert "dbt-vcs -r warehouse resolve" in done.stderr
    assert json.loads(vcs("merge", "none", "main", "--json", code=1).stdout)["error"] == "notfound"
