"""Equality of values as SQL: makes Spark compare values as `table.equality` does.

| values           | Spark by itself                          | here                              |
|------------------|------------------------------------------|-----------------------------------|
| NaN, -0.0        | as they should be, also in nested values | unchanged                         |
| text             | by its collation                         | cast to the binary one            |
| maps             | not compared, and not hashed             | their entries, in order of keys   |
| VARIANT          | not compared                             | their JSON text                   |
| arrays, structs  | by content                               | their content as this table says  |

So compare, group, join and hash values in SQL only by their `canonical` form.
"""

from __future__ import annotations

from dbt.adapters.vcs.core.model.data_type import Type, type_of
from dbt.adapters.vcs.table.quoting import quoted, sql_type


def canonical(value: str, type_: str) -> str:
    """Return SQL for a value's canonical form: Spark finds two equal exactly if the values are.

    Args:
        value: SQL of the value, not NULL without a type.
        type_: The text of its type.
    """
    return _canonical(value, type_of(type_), 0)


def differs(one: str, other: str, type_: str) -> str:
    """Return SQL for whether two values of a type differ; never NULL."""
    return f"not ({equals(one, other, type_)})"


def equals(one: str, other: str, type_: str) -> str:
    """Return SQL for whether two values of a type are equal; never NULL."""
    return f"{canonical(one, type_)} <=> {canonical(other, type_)}"


def _canonical(value: str, type_: Type, depth: int) -> str:
    kinds = {part.kind for part in type_.whole()}
    if not kinds & {"map", "variant"}:
        is_collated = any(part.collation for part in type_.whole())
        binary = sql_type(str(type_.binary()))
        return f"cast({value} as {binary})" if is_collated else value
    if type_.kind == "variant":
        return f"to_json({value})"
    item = f"__vcs_item{depth}"
    if type_.kind == "array":
        return f"transform({value}, {item} -> {_canonical(item, type_.parts[0], depth + 1)})"
    if type_.kind == "map":
        entry = zip((f"{item}.key", f"{item}.value"), type_.parts, strict=True)
        pair = ", ".join(_canonical(part, of, depth + 1) for part, of in entry)
        return f"sort_array(transform(map_entries({value}), {item} -> struct({pair})))"
    fields = zip(type_.names, type_.parts, strict=True)
    parts = (_canonical(f"{value}.{quoted(name)}", of, depth + 1) for name, of in fields)
    return f"if({value} is null, null, struct({', '.join(parts)}))"
