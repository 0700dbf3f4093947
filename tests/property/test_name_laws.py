"""Any text as a branch's name: one folder each, apart on any disk, and back."""

import string

from hypothesis import given
from hypothesis import strategies as st

from dbt.adapters.vcs.core.store.blobs import check_path
from dbt.adapters.vcs.core.store.names import MAX_QUOTED, is_name, quote, unquote

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
