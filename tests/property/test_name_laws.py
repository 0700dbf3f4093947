"""Any text as a branch's name: one folder each, apart on any disk, and back; git's own rules."""

import re
import shutil
import string
import subprocess
import tempfile

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.ids import Micros
from dbt.adapters.vcs.core.resolver import parse_range, parse_revision
from dbt.adapters.vcs.core.store.blobs import check_path
from dbt.adapters.vcs.core.store.branch_names import (
    MAX_QUOTED,
    check_new_name,
    is_name,
    quote,
    unquote,
    unseen,
)

names = st.one_of(
    st.text(min_size=1, max_size=40),
    st.text(alphabet="aA./=~^@{} -_é", min_size=1, max_size=12),
).filter(is_name)


@given(names)
def test_a_name_comes_back(name: str) -> None:
    assert unquote(quote(name)) == name


@given(names)
def test_a_folder_is_one_safe_segment(name: str) -> None:
    folder = quote(name)
    assert set(folder) <= set(string.ascii_lowercase + string.digits + "._-=ABCDEF")
    assert 1 <= len(folder) <= MAX_QUOTED
    assert folder.strip(".")
    assert check_path(f"refs/heads/{folder}/1").count("/") == 3


@given(names, names)
def test_different_names_stay_apart_where_case_is_ignored(one: str, other: str) -> None:
    if one != other:
        assert quote(one).lower() != quote(other).lower()


@given(names)
def test_names_that_differ_in_case_stay_apart(name: str) -> None:
    variants = {name, name.upper(), name.lower(), name.swapcase()}
    folders = {quote(variant).lower() for variant in variants if is_name(variant)}
    assert len(folders) == sum(map(is_name, variants))


PARTS = [
    "/",
    "//",
    ".",
    "..",
    ".lock",
    "@",
    "@{",
    "}",
    "~",
    "^",
    ":",
    "?",
    "*",
    "[",
    "\\",
    " ",
    "-",
]
texts = st.one_of(
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20),
    st.lists(
        st.sampled_from([*PARTS, "a", "x1", "main", "HEAD", "é", "\t", "\x7f", "cafe", "heads/"]),
        min_size=1,
        max_size=5,
    ).map("".join),
)


def git_takes(name: str) -> bool:
    """What `git check-ref-format` says of a branch, outside of any repository.

    With `--branch` it lets `@` pass, which it refuses as a name without.
    """
    commands = (["--branch", name], [f"refs/heads/{name}"], ["--allow-onelevel", name])
    with tempfile.TemporaryDirectory() as folder:
        return all(
            subprocess.run(
                ["git", "check-ref-format", *arguments], cwd=folder, capture_output=True
            ).returncode
            == 0
            for arguments in commands
        )


def is_allowed(name: str) -> bool:
    try:
        check_new_name(name, "branch")
    except InputError:
        return False
    return True


@pytest.mark.skipif(shutil.which("git") is None, reason="git isn't installed")
@example("main")
@example("feature/tax-2")
@example("a@{-1}")
@example("@")
@example("a./b")
@example("a/.b")
@example("x.lock/y")
@example("a@b")
@given(texts)
def test_a_new_name_is_taken_where_git_takes_it_and_no_commit_is_called_so(name: str) -> None:
    reads_as_commit = re.fullmatch("[0-9a-fA-F]{4,64}", name)
    reads_as_full_name = name.startswith(("refs/", "heads/", "tags/"))
    ours = not (reads_as_commit or reads_as_full_name or unseen(name))
    assert is_allowed(name) == (git_takes(name) and ours)


@given(texts.filter(is_allowed))
def test_a_new_name_is_no_revision_but_itself(name: str) -> None:
    revision = parse_revision(name, Micros(0))
    assert (revision.name, revision.selector, revision.steps) == (name, None, ())
    assert parse_range(name) is None
