"""Places in a text that was made from another one."""

import pytest

from dbt.adapters.vcs.sql.syntax.excerpts import own_place

WRITTEN = "merge into t using s\n on t.id = s.no when matched and s.nope then update set a = a + 1"
SENT = (
    "select 'x' as __a, case when (s.nope) then named_struct('v', a + 1) end\n"
    "from (select * from `__vcs`.`m`) as `t` join s on (t.id = s.no)"
)


@pytest.mark.parametrize("words", ["s.nope", "nope", "a + 1", "t.id", "s.no", "id"])
def test_what_was_moved_is_found_by_what_stands_around_it(words: str) -> None:
    place = own_place(WRITTEN, SENT, SENT.index(words if words != "s.no" else "s.no)"))
    assert place is not None
    assert WRITTEN[place:].startswith(words)
    assert (words == "s.no") == WRITTEN[place:].startswith("s.no ")


@pytest.mark.parametrize("words", ["__a", "`m`", "'v'", "named_struct"])
def test_what_was_added_is_nowhere(words: str) -> None:
    assert own_place(WRITTEN, SENT, SENT.index(words)) is None


def test_what_stands_for_a_relation_is_where_the_relation_was() -> None:
    written, sent = "select a\nfrom t version as of 's' x", "select a\nfrom `__vcs`.`v` x"
    assert own_place(written, sent, sent.index("`__vcs`")) == written.index("t version")


@pytest.mark.parametrize("behind", ["", ";", "  \n"])
def test_the_end_is_the_end(behind: str) -> None:
    written, sent = "select a from t version as of 's' where a = ", "select a from `v` where a ="
    assert own_place(written + behind, sent, len(sent)) == len(written.rstrip())


def test_a_part_of_the_text_counts_from_its_start() -> None:
    assert own_place("-- x\nselect nope", "select nope", 7) == 12
    assert own_place("create table t as\n select id, nope", "select id, nope", 11) == 30


@pytest.mark.parametrize("sent", ["select 'x", "zzz", "yy zzz"])
def test_what_has_nothing_in_common_is_nowhere(sent: str) -> None:
    assert own_place("select nope from t", sent, 3) is None
