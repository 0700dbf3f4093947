"""Random sequences of temporary and permanent names give what a plain session gives.

Relations are `a`, `b` and `c`, functions `f` and `g`; `a` and the functions read only `a` and the
table `t`, so that no function calls itself in a circle, which Spark does not survive.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from .pair import Pair

pytestmark = pytest.mark.spark

RELATIONS = ("a", "b", "c")
FUNCTIONS = ("f", "g")
# fmt: off
SPELLINGS = (
    "{0}", "{0}", "{0}", "s.{0}", "session.{0}", "system.session.{0}", "global_temp.{0}",
    "spark_catalog.s.{0}", "identifier('{0}')", "identifier('s').{0}", "s.identifier('{0}')",
    "identifier('global_temp.{0}')",
)
CALLS = (
    "{0}()", "{0}()", "s.{0}()", "session.{0}()", "system.session.{0}()", "identifier('{0}')()",
)
LOOKS = ("select * from {0}", "select * from {0}", "show columns in {0}", "describe {0}")
# fmt: on


def spelled(names: st.SearchStrategy[str] | tuple[str, ...]) -> st.SearchStrategy[str]:
    """Return ways to name one of some relations."""
    chosen = st.sampled_from(names) if isinstance(names, tuple) else names
    return st.builds(str.format, st.sampled_from(SPELLINGS), chosen)


NUMBERS = st.integers(1, 9)
CALLED = st.builds(str.format, st.sampled_from(CALLS), st.sampled_from(FUNCTIONS))


def queries(name: str) -> st.SearchStrategy[str]:
    read = spelled(("a", "t") if name == "a" else (*RELATIONS, "t"))
    plain = st.builds("select {} as x".format, NUMBERS) | st.builds(
        "select x + {1} as x from {0}".format, read, NUMBERS
    )
    if name == "a":
        return plain
    return (
        plain
        | st.builds("select l.x from {} as l join {} as r on l.x <= r.x".format, read, read)
        | st.builds("with a as (select * from {}) select * from a".format, read)
        | st.builds("select {} + {} as x".format, CALLED, NUMBERS)
    )


def bodies(name: str) -> st.SearchStrategy[str]:
    read = st.builds("(select max(x) from {})".format, spelled(("a", "t")))
    if name == "f":
        return read | st.builds(str, NUMBERS)
    return read | st.builds(lambda call: call.format("f") + " + 10", st.sampled_from(CALLS))


MAKES = (
    "create or replace temp view {0} as {1}",
    "create or replace temp view {0} as {1}",
    "create temporary view session.{0} as {1}",
    "create or replace global temp view {0} as {1}",
    "create or replace view {0} as {1}",
    "create table {0} as {1}",
    "cache table {0} as {1}",
    "insert into {0} {1}",
    "insert into session.{0} {1}",
    "alter view {0} as {1}",
    "alter view global_temp.{0} as {1}",
)


def makes(name: str) -> st.SearchStrategy[str]:
    return st.builds(str.format, st.sampled_from(MAKES), st.just(name), queries(name))


DEFINES = (
    "create or replace temporary function {0}() returns int return {1}",
    "create temporary function session.{0}() returns int return {1}",
    "create or replace function {0}() returns int return {1}",
)


def defines(name: str) -> st.SearchStrategy[str]:
    return st.builds(str.format, st.sampled_from(DEFINES), st.just(name), bodies(name))


DROPS = st.builds("drop {} {}".format, st.sampled_from(("view", "table")), spelled(RELATIONS))
FORGETS = st.builds(
    "drop {}function {}".format, st.sampled_from(("", "temporary ")), st.sampled_from(FUNCTIONS)
)
INSERTS = st.builds("insert into {} select {}".format, spelled((*RELATIONS, "t", "t")), NUMBERS)
RENAMES = st.builds(
    "alter view {} rename to {}".format, spelled(("b", "c")), st.sampled_from("bc")
)
LOOKING = st.builds(str.format, st.sampled_from(LOOKS), spelled(RELATIONS)) | st.builds(
    "select {}".format, CALLED
)
MAKING = st.sampled_from(RELATIONS).flatmap(makes)
DEFINING = st.sampled_from(FUNCTIONS).flatmap(defines)
STATEMENTS = st.lists(
    st.one_of(
        MAKING, MAKING, MAKING, DEFINING, DROPS, FORGETS, INSERTS, INSERTS, RENAMES, LOOKING
    ),
    min_size=4,
    max_size=10,
)
AT_LAST = (*(f"select * from {name}" for name in RELATIONS), "select f()", "show tables")


def test_names_mean_what_they_mean_in_a_plain_session(shared_pair: Pair) -> None:
    @settings(
        max_examples=max(1, settings().max_examples // 33),
        # An example takes seconds and a shrunk one hundreds of them: what fails is short anyway.
        phases=[Phase.generate],
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(STATEMENTS)
    def law(statements: list[str]) -> None:
        shared_pair.begin()
        try:
            shared_pair.check(*statements, *AT_LAST)
        finally:
            shared_pair.end()

    law()
