"""Random queries that know what they read: built top down, scopes kept as they are written."""

from typing import NamedTuple

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

# Few names, so that common table expressions often hide relations.
POOL = ("a", "b", "t", "orders")


class Written(NamedTuple):
    """A piece of SQL, and what it reads in order; None stands for a common table expression."""

    sql: str
    reads: tuple[str, ...] = ()


def joined(pattern: str, *pieces: Written) -> Written:
    sql = pattern.format(*(piece.sql for piece in pieces))
    return Written(sql, tuple(read for piece in pieces for read in piece.reads))


@st.composite
def relations(draw: DrawFn, hidden: frozenset[str], depth: int) -> Written:
    kinds = ["name", "name", "qualified", "aliased"]
    if depth:
        kinds += ["query", "join", "parentheses", "comma"]
    kind = draw(st.sampled_from(kinds))
    name = draw(st.sampled_from(POOL))
    if kind == "qualified":
        return Written(f"s.{name}", (f"s.{name}",))
    if kind in ("name", "aliased"):
        shown = draw(st.sampled_from([name, name.upper(), f"`{name}`"]))
        alias = draw(st.sampled_from([" as x", " y"])) if kind == "aliased" else ""
        return Written(shown + alias, () if name in hidden else (name,))
    if kind == "query":
        return joined("({0}) q", draw(queries(hidden, depth - 1)))
    if kind == "parentheses":
        return joined("({0})", draw(joins(hidden, depth - 1)))
    if kind == "join":
        return draw(joins(hidden, depth - 1))
    left, right = draw(relations(hidden, depth - 1)), draw(relations(hidden, depth - 1))
    return joined("{0} cross join {1}", left, right)


@st.composite
def joins(draw: DrawFn, hidden: frozenset[str], depth: int) -> Written:
    left, right = draw(relations(hidden, depth)), draw(relations(hidden, 0))
    join = draw(st.sampled_from(["join", "left join", "full outer join"]))
    return joined("{0} " + join + " {1} on {2}", left, right, draw(conditions(hidden, depth)))


@st.composite
def conditions(draw: DrawFn, hidden: frozenset[str], depth: int) -> Written:
    plain = ["x.a = 1", "extract(year from d) > 2", "a is not distinct from b", "c in (1, 2)"]
    if not depth:
        return Written(draw(st.sampled_from(plain)))
    pattern = draw(
        st.sampled_from(
            [
                *plain,
                "exists ({0})",
                "a in ({0})",
                "(select max(a) from t2) = ({0})",
                "case when b then ({0}) else trim(both 'x' from c) end = 1",
            ]
        )
    )
    if "{0}" not in pattern:
        return Written(pattern)
    inner = draw(queries(hidden, depth - 1))
    before = ("t2",) if "t2" in pattern else ()
    return Written(pattern.format(inner.sql), (*before, *inner.reads))


@st.composite
def selects(draw: DrawFn, hidden: frozenset[str], depth: int) -> Written:
    item = Written(draw(st.sampled_from(["*", "x.a, 'from t'", "substring(c from 2) as z"])))
    sources = draw(st.lists(relations(hidden, depth), min_size=1, max_size=2))
    sql = "select {0} from " + ", ".join(f"{{{n + 1}}}" for n in range(len(sources)))
    pieces = [item, *sources]
    if draw(st.booleans()):
        sql += f" where {{{len(pieces)}}}"
        pieces.append(draw(conditions(hidden, depth)))
    return joined(
        sql + draw(st.sampled_from(["", " group by a, b", " order by a limit 1"])), *pieces
    )


@st.composite
def queries(draw: DrawFn, hidden: frozenset[str] = frozenset(), depth: int = 2) -> Written:
    """Draw a query in the scope of the common table expressions in `hidden`."""
    heads: list[Written] = []
    if draw(st.integers(0, 2)) == 0:
        for name in draw(st.lists(st.sampled_from(POOL), min_size=1, max_size=2, unique=True)):
            body = draw(queries(hidden, depth - 1)) if depth else Written("select 1")
            heads.append(joined(name + " as ({0})", body))
            hidden = hidden | {name}
    body = draw(selects(hidden, depth))
    if depth and draw(st.integers(0, 3)) == 0:
        other = draw(selects(hidden, depth - 1))
        operator = draw(st.sampled_from(["union all", "except", "intersect"]))
        body = joined("({0}) " + operator + " ({1})", body, other)
    if heads:
        listed = joined(", ".join(f"{{{n}}}" for n in range(len(heads))), *heads)
        body = joined("with {0} {1}", listed, body)
    return body
