"""Spark's own parser, asked in a JVM: what it makes of a query is what counts."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from pyspark.java_gateway import launch_gateway

from dbt.adapters.vcs.sql.syntax.conditions import Comparison, Constant
from dbt.adapters.vcs.sql.syntax.names import CATALOG

_OPERATORS = {
    "EqualTo": "=",
    "EqualNullSafe": "<=>",
    "LessThan": "<",
    "LessThanOrEqual": "<=",
    "GreaterThan": ">",
    "GreaterThanOrEqual": ">=",
}
_CHANGES = frozenset({"InsertIntoStatement", "UpdateTable", "DeleteFromTable", "MergeIntoTable"})
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


class Place(NamedTuple):
    """One place in a text that names a relation.

    Attributes:
        parts: The name's parts, in lower case.
        start: Offset of its first character.
        end: Offset behind its last character.
        aliased: True if an alias follows.
    """

    parts: tuple[str, ...]
    start: int
    end: int
    aliased: bool


class Condition(NamedTuple):
    """A condition on the rows of one relation.

    Attributes:
        text: As written.
        relation: The relation's parts.
        alias: The relation's alias, or None.
        own: What may stand before a column of the relation, in lower case.
        comparisons: What `and` joins in it that compares a column with constants.
    """

    text: str
    relation: tuple[str, ...]
    alias: str | None
    own: frozenset[str]
    comparisons: frozenset[Comparison]


class Parsed(NamedTuple):
    """What a query says, as Spark reads it."""

    places: frozenset[Place]
    conditions: tuple[Condition, ...]


class SparkParser:
    """Spark's parser and its substitution of common table expressions; nothing is analyzed."""

    def __init__(self) -> None:
        self._gateway = launch_gateway()
        jvm: Any = self._gateway.jvm
        sql = jvm.org.apache.spark.sql
        self._parser = sql.execution.SparkSqlParser()
        self._substitution = getattr(getattr(sql.catalyst.analysis, "CTESubstitution$"), "MODULE$")

    def close(self) -> None:
        """Stop the JVM."""
        self._gateway.shutdown()
        self._gateway.proc.stdin.close()  # type: ignore[attr-defined]
        self._gateway.proc.wait()  # type: ignore[attr-defined]

    def parse(self, text: str) -> Parsed | None:
        """Return what Spark reads in a query, None if it isn't one for Spark."""
        try:
            plan = self._substitution.apply(self._parser.parsePlan(text))
        except Exception as error:
            if "ParseException" in str(error) or "AnalysisException" in str(error):
                return None
            raise
        if plan.nodeName() in _CHANGES:
            return None
        places: set[Place] = set()
        conditions: list[Condition] = []
        for node, parent in _nodes(plan, None):
            kind = node.nodeName()
            if kind == "UnresolvedRelation":
                alias = parent is not None and parent.nodeName() == "SubqueryAlias"
                start, end = node.origin().startIndex().get(), node.origin().stopIndex().get() + 1
                if node.isStreaming():
                    start, end = _streamed(text, start)
                places.add(Place(_parts(node), start, end, alias))
            elif kind == "Filter":
                conditions += _condition(text, node)
        return Parsed(frozenset(places), tuple(conditions))


def _streamed(text: str, start: int) -> tuple[int, int]:
    """Return where the name behind `stream` is written; Spark keeps the place of the whole."""
    found = re.compile(r"(?i)stream\s*\(?\s*([\w.`]+)").match(text, start)
    assert found is not None, text
    return found.span(1)


def _nodes(node: Any, parent: Any) -> Iterator[tuple[Any, Any]]:
    """Give each node of a plan, its parent with it; those of subqueries have none."""
    yield node, parent
    if node.nodeName() == "RelationTimeTravel":
        yield from _nodes(node.relation(), parent)
    for child in _each(node.children()):
        # Names of columns behind an alias lie between it and the relation.
        names = node.nodeName() == "UnresolvedSubqueryColumnAliases"
        yield from _nodes(child, parent if names else node)
    for inner in _each(node.subqueries()):
        yield from _nodes(inner, None)


def _each(found: Any) -> Iterator[Any]:
    return (found.apply(index) for index in range(found.size()))


def _parts(relation: Any) -> tuple[str, ...]:
    return tuple(part.lower() for part in _each(relation.multipartIdentifier()))


def _condition(text: str, node: Any) -> Iterator[Condition]:
    """Give the condition of a filter right above one relation."""
    child, alias = node.child(), None
    if child.nodeName() == "SubqueryAlias":
        child, alias = child.child(), child.identifier().name()
    origin = node.condition().origin()
    if child.nodeName() == "UnresolvedRelation" and origin.startIndex().isDefined():
        relation = _parts(child)
        full = (CATALOG, *relation) if len(relation) == 2 else relation
        own = frozenset(
            {alias.lower()} if alias else {".".join(full[part:]) for part in range(len(full))}
        )
        written = text[origin.startIndex().get() : origin.stopIndex().get() + 1]
        found = frozenset(_comparisons(node.condition(), own))
        yield Condition(written, relation, alias, own, found)


def _comparisons(condition: Any, own: frozenset[str]) -> Iterator[Comparison]:
    kind = condition.getClass().getSimpleName()
    if kind == "And":
        yield from _comparisons(condition.left(), own)
        yield from _comparisons(condition.right(), own)
    elif kind in _OPERATORS:
        operator = _OPERATORS[kind]
        column, constant = _column(condition.left(), own), _constant(condition.right())
        if column is None:
            column, constant = _column(condition.right(), own), _constant(condition.left())
            operator = _FLIPPED.get(operator, operator)
        if column is not None and constant is not None:
            yield Comparison(column, operator, (constant,))  # type: ignore[arg-type]
    elif kind == "UnresolvedFunction" and ".".join(_each(condition.nameParts())) == "between":
        value, *limits = _each(condition.arguments())
        column = _column(value, own)
        low, high = (_constant(limit) for limit in limits)
        if column is not None and low is not None and high is not None:
            yield Comparison(column, ">=", (low,))
            yield Comparison(column, "<=", (high,))
    elif kind in ("IsNull", "IsUnknown", "IsNotNull"):
        column = _column(condition.child(), own)
        if column is not None:
            yield Comparison(column, "is not null" if kind == "IsNotNull" else "is null")
    elif kind == "In":
        column = _column(condition.value(), own)
        values = [_constant(value) for value in _each(condition.list())]
        if column is not None and None not in values:
            yield Comparison(column, "in", tuple(filter(None, values)))


def _column(expression: Any, own: frozenset[str]) -> str | None:
    if expression.getClass().getSimpleName() != "UnresolvedAttribute":
        return None
    *before, column = _each(expression.nameParts())
    return column if not before or ".".join(before).lower() in own else None


def _constant(expression: Any) -> Constant | None:
    kind = expression.getClass().getSimpleName()
    if kind in ("UnaryMinus", "UnaryPositive"):
        inner = _constant(expression.child())
        if inner is None or inner.kind != "number" or inner.value[0] == "-":
            return None
        return Constant("number", f"-{inner.value}") if kind == "UnaryMinus" else inner
    if kind != "Literal" or expression.value() is None:
        return None
    type_ = expression.dataType().simpleString()
    written = expression.toString()
    if type_ in ("date", "timestamp", "string", "boolean"):
        return Constant(type_, written)
    number = type_ in ("int", "bigint", "double") or type_.startswith("decimal")
    return Constant("number", written) if number else None
