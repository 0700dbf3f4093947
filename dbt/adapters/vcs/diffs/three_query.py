"""Three-way join as a query for an engine, with the same rows as in process."""

from __future__ import annotations

from dbt.adapters.vcs.diffs.three_plan import Plan, ThreeWayColumn
from dbt.adapters.vcs.rows.equality_sql import canonical, equals
from dbt.adapters.vcs.rows.quoting import quoted


def keyed_query(plan: Plan, ours: str, theirs: str) -> str:
    """Return the query that joins both sides' changes, in the shape `wide`, by key."""

    def value(column: ThreeWayColumn, side: str, prefix: str) -> str:
        name = column.ours if side == "ours" else column.theirs
        sql = "null" if name is None else f"{side}.{quoted(f'{prefix}_{name}')}"
        return f"cast({sql} as {column.field.type})"

    def key(column: ThreeWayColumn, side: str) -> str:
        return f"coalesce({value(column, side, 'to')}, {value(column, side, 'from')})"

    joined = " and ".join(
        equals(key(column, "ours"), key(column, "theirs"), column.field.type)
        for column in plan.key
    )
    listed = [f"coalesce({key(column, 'ours')}, {key(column, 'theirs')})" for column in plan.key]
    listed += ["ours.diff_type", "theirs.diff_type"]
    for column in plan.columns:
        base = [value(column, side, "from") for side in ("ours", "theirs")]
        listed += [
            f"if(ours.diff_type is not null, {base[0]}, {base[1]})",
            f"if(ours.diff_type is not null, {value(column, 'ours', 'to')}, {base[1]})",
            f"if(theirs.diff_type is not null, {value(column, 'theirs', 'to')}, {base[0]})",
        ]
    named = [f"{sql} {quoted(name)}" for sql, name in zip(listed, plan.names, strict=True)]
    return (
        f"select {', '.join(named)} from ({ours}) ours full outer join ({theirs}) theirs "
        f"on {joined}"
    )


def counted_query(plan: Plan, ours: str, theirs: str) -> str:
    """Return the query that adds up both sides' changes, in the shape `signed`."""
    numbers = range(len(plan.columns))
    parts = []
    for query, counts in ((ours, "diff_count o, 0L t"), (theirs, "0L o, diff_count t")):
        columns = [
            "null" if name is None else quoted(name)
            for name in ((c.ours if counts.startswith("diff") else c.theirs) for c in plan.columns)
        ]
        listed = [f"cast({columns[n]} as {plan.columns[n].field.type}) c{n}" for n in numbers]
        parts.append(f"select {counts}, {', '.join(listed)} from ({query})")
    keys = [canonical(f"c{n}", plan.columns[n].field.type) for n in numbers]
    shown = [f"c{n}" if keys[n] == f"c{n}" else f"any_value(c{n}) c{n}" for n in numbers]
    added = (
        f"select sum(o) o, sum(t) t, {', '.join(shown)} from ({' union all '.join(parts)}) "
        f"group by {', '.join(keys)}"
    )
    kinds = [f"if({side} > 0, 'added', if({side} < 0, 'removed', null))" for side in "ot"]
    values = [*kinds, "o", "t", *(f"c{n}" for n in numbers)]
    named = [f"{sql} {quoted(name)}" for sql, name in zip(values, plan.names, strict=True)]
    return f"select {', '.join(named)} from ({added})"
