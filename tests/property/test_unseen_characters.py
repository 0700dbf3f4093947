"""The law of names: what is new holds no character that can't be seen, and says which it is."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbt.adapters.vcs.commands.branch import create_branch
from dbt.adapters.vcs.commands.snapshot import create_snapshot
from dbt.adapters.vcs.commands.tag import create_tag
from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.tree_changes import check_name
from tests.unit.warehouse import Warehouse


@pytest.fixture
def warehouse() -> Warehouse:
    return Warehouse()


BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
ZERO_WIDTH = "\u00ad\u034f\u115f\u180e\u200b\u200c\u200d\u2060\u3164\ufe0f\ufeff\uffa0\U000e0041"
CONTROL = "\x00\x07\t\n\r\x1b\x7f\x80\x85\x9f\u2028\u2029"
UNSEEN = st.one_of(
    st.sampled_from(BIDI + ZERO_WIDTH + CONTROL),
    st.characters(categories=["Cc", "Cf", "Zl", "Zp"]),
)


@given(UNSEEN, st.sampled_from(["", "a", "main"]), st.sampled_from(["", "z", "x1"]))
def test_a_new_name_with_an_unseen_character_is_refused_by_the_name_of_the_character(
    character: str, before: str, after: str
) -> None:
    warehouse = Warehouse()
    warehouse.put(a="1")
    repository, name = warehouse.repository, f"{before}{character}{after}"
    warehouse.branch("dev")
    for refused in (
        lambda: create_branch(repository, name, author="ann"),
        lambda: create_tag(repository, name, "main", author="ann"),
        lambda: create_snapshot(repository, "shop.a", name, "main", author="ann"),
        lambda: repository.rename("heads", "dev", name, author="ann"),
        lambda: check_name(name, "schema"),
        lambda: check_name(name, "table or view"),
    ):
        with pytest.raises(InputError) as caught:
            refused()
        message = str(caught.value)
        assert f"U+{ord(character):04X}" in message
        assert unicodedata.name(character, "") in message
        assert character not in message


@pytest.mark.parametrize("name", ["été", "日本", "ветка", "שלום", "मुख्य", "v1.0-rc_2", "🚀"])
def test_names_in_any_script_are_accepted(warehouse: Warehouse, name: str) -> None:
    assert create_branch(warehouse.repository, name, author="ann").name == name


def test_a_name_of_an_earlier_version_with_an_unseen_character_can_be_left(
    warehouse: Warehouse,
) -> None:
    repository = warehouse.repository
    repository.create_branch("a\u202eb", warehouse.head(), author="ann", check=False)
    repository.rename("heads", "a\u202eb", "ab", author="ann")
    assert repository.find_branch("ab") is not None
