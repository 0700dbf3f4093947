"""The statements `create function`, `describe function` and `show functions`.

The parameters are followed, in any order, by the clauses of Spark's SQL functions: `returns
<type>`, `returns table [(<column> <type>, ...)]`, `language`, `[not] deterministic`,
`comment`. A SQL function ends with `return` and an expression or a query. A Python function
also has `handler = '...'`, and may have `runtime_version = '...'` and `packages = ('...',
...)`; it ends with `as` and its source as a string, which needs no escapes inside `$$ ... $$`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeVar, cast

from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.core.model.tree import Language, Parameter, Shape, ViewColumn
from dbt.adapters.vcs.sql.syntax.clauses import read_if_not_exists, read_type
from dbt.adapters.vcs.sql.syntax.cursor import TokenCursor
from dbt.adapters.vcs.sql.syntax.lexer import Kind
from dbt.adapters.vcs.sql.syntax.mentions import mentions_of
from dbt.adapters.vcs.sql.syntax.names import Name, Target
from dbt.adapters.vcs.sql.syntax.relations import is_name
from dbt.adapters.vcs.sql.syntax.statement import Query, SparkCommand, Statement


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateFunction(Statement):
    """`create [or replace] [aggregate] function f(...) ... return ... | as '...'`.

    Attributes:
        target: The function.
        body: What follows `return`. For Python its text is the module's source, and it reads
            nothing.
        language: The language of the body.
        shape: What the function returns.
        parameters: In order.
        returns: Type of the value; None if not given, and for rows.
        columns: Columns of the rows; empty if not given.
        deterministic: Whether equal arguments give equal values; None if not given.
        handler: From `handler = '...'`.
        packages: From `packages = (...)`.
        runtime: From `runtime_version = '...'`.
        comment: Free text, or None.
        replace: True with `or replace`.
        if_not_exists: True with that clause.
    """

    changes = True

    target: Target
    body: Query
    language: Language = "sql"
    shape: Shape = "scalar"
    parameters: tuple[Parameter, ...] = ()
    returns: str | None = None
    columns: tuple[ViewColumn, ...] = ()
    deterministic: bool | None = None
    handler: str | None = None
    packages: tuple[str, ...] = ()
    runtime: str | None = None
    comment: str | None = None
    replace: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DropFunction(Statement):
    """`drop function [if exists] f`."""

    changes = True

    target: Target
    if_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeFunction(Statement):
    """`describe function [extended] f`."""

    target: Target
    extended: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowFunctions(Statement):
    """`show [user | all] functions [in s] [like 'a*|b*']`.

    Attributes:
        kind: Whether to include Spark's own functions.
        schema: The schema asked for, or None.
        pattern: Spark's pattern of names, or None.
    """

    kind: Literal["user", "all"] = "all"
    schema: str | None = None
    pattern: str | None = None


T = TypeVar("T")


@dataclass(slots=True)
class _Draft:
    """The clauses read so far."""

    language: Language = "sql"
    shape: Shape = "scalar"
    returns: str | None = None
    columns: tuple[ViewColumn, ...] = ()
    deterministic: bool | None = None
    handler: str | None = None
    packages: tuple[str, ...] = ()
    runtime: str | None = None
    comment: str | None = None


def read_create_function(
    cursor: TokenCursor, *, replace: bool, aggregate: bool = False
) -> CreateFunction:
    """Read what follows `create [or replace] [aggregate] function`.

    Raises:
        UnsupportedError: A branch can't hold such a function.
    """
    if_not_exists = read_if_not_exists(cursor, replace=replace)
    target = cursor.target()
    if cursor.at("as"):
        raise UnsupportedError(
            f"A function of a Java class can't be kept on a branch ({target.name}). Make it "
            "temporary: create temporary function ... as '<class>'."
        )
    draft = _Draft(shape="aggregate" if aggregate else "scalar")
    parameters = _listed(cursor, lambda: _parameter(cursor))
    while not (cursor.at("return") or cursor.at("as")):
        if not _clause(cursor, draft):
            cursor.fail("a clause of `create function`, or `return` and an expression")
    body = _body(cursor, draft, target.name)
    return CreateFunction(
        target=target,
        body=body,
        language=draft.language,
        shape=draft.shape,
        parameters=parameters,
        returns=draft.returns,
        columns=draft.columns,
        deterministic=draft.deterministic,
        handler=draft.handler,
        packages=draft.packages,
        runtime=draft.runtime,
        comment=draft.comment,
        replace=replace,
        if_not_exists=if_not_exists,
    )


def read_temporary_function(cursor: TokenCursor) -> SparkCommand | None:
    """Read what follows `create [or replace] temporary`; None if it is not a function."""
    if not cursor.take("function"):
        return None
    return SparkCommand(text=cursor.text, mentions=mentions_of(cursor.tokens))


def _clause(cursor: TokenCursor, draft: _Draft) -> bool:
    """Read one clause; False if there is none."""
    if cursor.at("returns", "null", "on") or cursor.at("sql", "security"):
        raise UnsupportedError(
            f"`{cursor.token.text} {cursor.ahead().text} ...` is not supported for functions. "
            "Remove the clause."
        )
    if cursor.take("returns"):
        _returns(cursor, draft)
    elif cursor.take("language"):
        _language(cursor, draft)
    elif cursor.take("deterministic"):
        draft.deterministic = True
    elif cursor.take("not", "deterministic"):
        draft.deterministic = False
    elif cursor.take("comment"):
        draft.comment = cursor.string()
    elif cursor.take("handler"):
        cursor.symbol("=")
        draft.handler = cursor.string()
    elif cursor.take("runtime_version"):
        cursor.symbol("=")
        draft.runtime = cursor.string()
    elif cursor.take("packages"):
        cursor.symbol("=")
        draft.packages = cursor.items(cursor.string)
    else:
        # These clauses state the default, or what the engine finds out by itself.
        return (
            cursor.take("contains", "sql")
            or cursor.take("reads", "sql", "data")
            or cursor.take("called", "on", "null", "input")
        )
    return True


def _returns(cursor: TokenCursor, draft: _Draft) -> None:
    if not cursor.take("table"):
        draft.returns = read_type(cursor)
        return
    if draft.shape == "aggregate":
        raise InputError("An aggregate function returns one value, not a table. Name its type.")
    draft.shape = "table"
    if cursor.token.word == "(":
        draft.columns = _listed(cursor, lambda: _column(cursor))


def _language(cursor: TokenCursor, draft: _Draft) -> None:
    language = cursor.identifier("a language").lower()
    if language not in ("sql", "python"):
        raise UnsupportedError(
            f"Functions in {language} are not supported: Spark can't run it. Write it in "
            "SQL or Python."
        )
    draft.language = cast(Language, language)


def _body(cursor: TokenCursor, draft: _Draft, name: Name) -> Query:
    if draft.language == "sql":
        if draft.shape == "aggregate":
            raise UnsupportedError(
                f"Spark's SQL functions can't aggregate ({name}). Write it in Python, as a class "
                "with accumulate and finish, or make the expression a dbt macro."
            )
        cursor.expect("return")
        return cursor.query()
    cursor.expect("as")
    source = cursor.string()
    cursor.end()
    if draft.handler is None:
        raise InputError(
            f"Expected handler = '...' for the Python function {name}: the name of the function "
            "or class to call in its source. In dbt it is the config entry_point."
        )
    if draft.shape == "table":
        raise UnsupportedError(
            f"Python functions that return tables are not supported ({name}). Write it in SQL, or "
            "make it a Python model."
        )
    if draft.returns is None:
        raise InputError(f"Expected `returns` and a type for the Python function {name}.")
    return Query(text=source)


def _listed(cursor: TokenCursor, read: Callable[[], T]) -> tuple[T, ...]:
    """Read a list in parentheses that may be empty."""
    if cursor.take("(", ")"):
        return ()
    return cursor.items(read)


def _parameter(cursor: TokenCursor) -> Parameter:
    name = cursor.identifier("a parameter's name")
    type_ = read_type(cursor)
    default: str | None = None
    comment: str | None = None
    while cursor.token.word not in (",", ")"):
        if cursor.take("default"):
            default = cursor.sql_until(lambda: cursor.at("comment"))
        elif cursor.take("comment"):
            comment = cursor.string()
        else:
            cursor.fail("`default`, `comment`, a comma or a closing parenthesis")
    return Parameter(name=name, type=type_, default=default, comment=comment)


def _column(cursor: TokenCursor) -> ViewColumn:
    name = cursor.identifier("a column's name")
    type_ = read_type(cursor)
    comment = cursor.string() if cursor.take("comment") else None
    return ViewColumn(name=name, type=type_, comment=comment)


def read_describe_function(cursor: TokenCursor) -> DescribeFunction | None:
    """Read what follows `describe function`; None where an operator is described."""
    extended = cursor.ahead().kind is not Kind.END and cursor.take("extended")
    if not is_name(cursor.token):
        return None
    target = cursor.target()
    cursor.end()
    return DescribeFunction(target=target, extended=extended)


def read_show_functions(cursor: TokenCursor) -> ShowFunctions | None:
    """Read what follows `show` if it lists functions; None if it doesn't, or only Spark's own."""
    kind = cursor.take_any("user", "all") if cursor.ahead().word == "functions" else None
    if not cursor.take("functions"):
        return None
    schema = cursor.schema() if cursor.take_any("in", "from") else None
    pattern: str | None = None
    if cursor.take("like") or not cursor.done:
        if cursor.token.kind is Kind.STRING:
            pattern = cursor.string()
        else:
            name = cursor.target().name
            schema, pattern = name.schema or schema, name.identifier
    return ShowFunctions(kind="user" if kind == "user" else "all", schema=schema, pattern=pattern)
