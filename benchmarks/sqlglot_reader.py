"""The adapter that sqlglot would need: places and conjuncts out of its tree."""

from collections.abc import Iterator

import sqlglot
from spark_parser import Place
from sqlglot import exp

from dbt.adapters.vcs.sql.syntax.conditions import Comparison, Constant

_OPERATORS = {
    exp.EQ: "=",
    exp.NullSafeEQ: "<=>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def places_of(text: str) -> frozenset[Place]:
    """Return where a query names relations that no common table expression hides."""
    tree = sqlglot.parse_one(text, read="spark")
    return frozenset(
        Place(
            tuple(part.name.lower() for part in table.parts),
            table.parts[0].meta["start"],
            table.parts[-1].meta["end"] + 1,
            bool(table.alias),
        )
        for table in tree.find_all(exp.Table)
        if isinstance(table.this, exp.Identifier)
        and not table.find_ancestor(exp.Hint)
        and not _is_hidden(table)
    )


def _is_hidden(table: exp.Table) -> bool:
    """Say whether a name means a common table expression: one of its own or an outer level."""
    if table.db:
        return False
    below: exp.Expression = table
    node = table.parent
    while node is not None:
        if isinstance(node, exp.With):
            names = _names(node.expressions, None if node.recursive else below)
        else:
            with_ = node.args.get("with_") or node.args.get("with")
            names = _names(with_.expressions) if with_ and below is not with_ else set()
        if table.name.lower() in names:
            return True
        below, node = node, node.parent
    return False


def _names(tables: list[exp.Expression], before: exp.Expression | None = None) -> set[str]:
    names = set()
    for table in tables:
        if table is before:
            break
        names.add(table.alias.lower())
    return names


def comparisons_of(condition: str, own: frozenset[str]) -> frozenset[Comparison]:
    """Return the comparisons that `and` joins, of columns qualified by one of some names."""
    tree = sqlglot.parse_one(f"select * from t where {condition}", read="spark")
    return frozenset(_comparisons(tree.args["where"].this, own))


def _comparisons(node: exp.Expression, own: frozenset[str]) -> Iterator[Comparison]:
    node = node.unnest()
    if isinstance(node, exp.And):
        yield from _comparisons(node.left, own)
        yield from _comparisons(node.right, own)
    elif type(node) in _OPERATORS:
        operator = _OPERATORS[type(node)]
        column, constant = _column(node.left, own), _constant(node.right)
        if column is None:
            column, constant = _column(node.right, own), _constant(node.left)
            operator = _FLIPPED.get(operator, operator)
        if column is not None and constant is not None:
            yield Comparison(column, operator, (constant,))  # type: ignore[arg-type]
    elif isinstance(node, exp.Between):
        column = _column(node.this, own)
        low, high = _constant(node.args["low"]), _constant(node.args["high"])
        if column is not None and low is not None and high is not None:
            yield Comparison(column, ">=", (low,))
            yield Comparison(column, "<=", (high,))
    elif isinstance(node, exp.In) and node.expressions:
        column = _column(node.this, own)
        values = [_constant(value) for value in node.expressions]
        if column is not None and None not in values:
            yield Comparison(column, "in", tuple(filter(None, values)))
    else:
        yield from _null_test(node, own)


def _null_test(node: exp.Expression, own: frozenset[str]) -> Iterator[Comparison]:
    negated = isinstance(node, exp.Not)
    test = node.this.unnest() if negated else node
    if isinstance(test, exp.Is) and isinstance(test.expression, exp.Null):
        column = _column(test.this, own)
        if column is not None:
            yield Comparison(column, "is not null" if negated else "is null")


def _column(node: exp.Expression, own: frozenset[str]) -> str | None:
    node = node.unnest()
    if not isinstance(node, exp.Column):
        return None
    before = ".".join(part.name for part in node.parts[:-1]).lower()
    return node.name if not before or before in own else None


def _constant(node: exp.Expression) -> Constant | None:
    node = node.unnest()
    if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal) and node.this.is_number:
        return Constant("number", f"-{node.name}")
    if isinstance(node, exp.Literal):
        return Constant("string" if node.is_string else "number", node.name)
    if isinstance(node, exp.Boolean):
        return Constant("boolean", str(node.this).lower())
    if isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal) and node.this.is_string:
        if node.to.this is exp.DataType.Type.DATE:
            return Constant("date", node.this.name)
        if node.to.this in (exp.DataType.Type.TIMESTAMP, exp.DataType.Type.TIMESTAMPTZ):
            return Constant("timestamp", node.this.name)
    return None
