"""Functions of a branch: `create`, `drop`, `describe` and `show functions`.

The parameters are followed, in any order, by the clauses of Spark's SQL functions: `returns
<type>`, `returns table [(<column> <type>, ...)]`, `language`, `[not] deterministic`,
`comment`. A SQL function ends with `return` and an expression or a query. A Python function
also has `handler = '...'`, and may have `runtime_version = '...'` and `packages = ('...',
...)`; it ends with `as` and its source as a string, which needs no escapes inside `$$ ... $$`.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, TypeVar, cast

from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.core.model import Function, FunctionEntry, Parameter, RelationName
from dbt.adapters.vcs.core.model.tree import Language, Shape, ViewColumn
from dbt.adapters.vcs.sql.show import like, read_schema_filter
from dbt.adapters.vcs.sql.syntax.clauses import read_if_exists, read_type
from dbt.adapters.vcs.sql.syntax.cursor import TokenCursor
from dbt.adapters.vcs.sql.syntax.lexer import Kind, quote_text
from dbt.adapters.vcs.sql.syntax.mentions import calls_of
from dbt.adapters.vcs.sql.syntax.names import CATALOG, Name, Target, is_name
from dbt.adapters.vcs.sql.syntax.parser import (
    ChangingStatement,
    Query,
    Statement,
    qualified,
    reads,
    remaining_query,
)
from dbt.adapters.vcs.sql.table import (
    Creation,
    drop,
    may_create,
    put_back_after_errors,
    read_creation,
)
from dbt.adapters.vcs.sql.time_travel import check_view
from dbt.adapters.vcs.workspace.statement_scope import Listing, Outcome, Scope, handles


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateFunction(Creation):
    """`create [or replace] [aggregate] function f(...) ... return ... | as '...'`.

    Attributes:
        body: What follows `return`. For Python its text is the module's source, and it reads
            nothing.
        returns: Type of the value; None if not given, and for rows.
        columns: Columns of the rows; empty if not given.
        deterministic: Whether equal arguments give equal values; None if not given.
        runtime: From `runtime_version = '...'`.
    """

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


@dataclass(frozen=True, slots=True, kw_only=True)
class DropFunction(ChangingStatement):
    """`drop function [if exists] f`."""

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
        pattern: Spark's pattern of names, or None.
    """

    kind: Literal["user", "all"] = "all"
    schema: str | None = None
    pattern: str | None = None


T = TypeVar("T")


# The clauses read so far, by the fields of `CreateFunction`.
_Draft: TypeAlias = dict[str, Any]


@reads("create [or replace] [aggregate] function")
def _read_create_function(cursor: TokenCursor) -> CreateFunction:
    # The cursor is behind `function`: two tokens back is the word before it.
    aggregate = cursor.ahead(-2).word == "aggregate"
    creation = read_creation(cursor)
    name: Name = creation["target"].name
    if cursor.at("as"):
        raise UnsupportedError(
            f"A function of a Java class can't be kept on a branch ({name}). Make it "
            "temporary: create temporary function ... as '<class>'."
        )
    draft: _Draft = {"shape": "aggregate" if aggregate else "scalar", "language": "sql"}
    parameters = _listed(cursor, lambda: _read_parameter(cursor))
    while not (cursor.at("return") or cursor.at("as")):
        if not _clause(cursor, draft):
            cursor.fail("a clause of `create function`, or `return` and an expression")
    body = _body(cursor, draft, name)
    return CreateFunction(**creation, body=body, parameters=parameters, **draft)


def _clause(cursor: TokenCursor, draft: _Draft) -> bool:
    """Read one clause; False if there is none."""
    if cursor.at("returns", "null", "on") or cursor.at("sql", "security"):
        raise UnsupportedError(
            f"`{cursor.token.text} {cursor.ahead().text} ...` is not supported for functions. "
            "Remove the clause."
        )
    if cursor.take("returns"):
        _read_returns(cursor, draft)
    elif cursor.take("language"):
        _language(cursor, draft)
    elif cursor.take("deterministic"):
        draft["deterministic"] = True
    elif cursor.take("not", "deterministic"):
        draft["deterministic"] = False
    elif cursor.take("comment"):
        draft["comment"] = cursor.string()
    elif cursor.take("handler"):
        cursor.take("=")
        draft["handler"] = cursor.string()
    elif cursor.take("runtime_version"):
        cursor.take("=")
        draft["runtime"] = cursor.string()
    elif cursor.take("packages"):
        cursor.take("=")
        draft["packages"] = cursor.items(cursor.string)
    else:
        # These clauses state the default, or what the engine finds out by itself.
        return (
            cursor.take("contains", "sql")
            or cursor.take("reads", "sql", "data")
            or cursor.take("called", "on", "null", "input")
        )
    return True


def _read_returns(cursor: TokenCursor, draft: _Draft) -> None:
    if not cursor.take("table"):
        draft["returns"] = read_type(cursor)
        return
    if draft["shape"] == "aggregate":
        raise InputError("An aggregate function returns one value, not a table. Name its type.")
    draft["shape"] = "table"
    if cursor.token.word == "(":
        draft["columns"] = _listed(cursor, lambda: _column(cursor))


def _language(cursor: TokenCursor, draft: _Draft) -> None:
    language = cursor.identifier("a language").lower()
    if language not in ("sql", "python"):
        raise UnsupportedError(
            f"Functions in {language} are not supported: Spark can't run it. Write it in "
            "SQL or Python."
        )
    draft["language"] = cast(Language, language)


def _body(cursor: TokenCursor, draft: _Draft, name: Name) -> Query:
    if draft["language"] == "sql":
        if draft["shape"] == "aggregate":
            raise UnsupportedError(
                f"Spark's SQL functions can't aggregate ({name}). Write it in Python, as a class "
                "with accumulate and finish, or make the expression a dbt macro."
            )
        cursor.expect("return")
        return remaining_query(cursor)
    cursor.expect("as")
    source = cursor.string()
    cursor.end()
    if draft.get("handler") is None:
        raise InputError(
            f"Expected handler = '...' for the Python function {name}: the name of the function "
            "or class to call in its source. In dbt it is the config entry_point."
        )
    if draft["shape"] == "table":
        raise UnsupportedError(
            f"Python functions that return tables are not supported ({name}). Write it in SQL, or "
            "make it a Python model."
        )
    if draft.get("returns") is None:
        raise InputError(f"Expected `returns` and a type for the Python function {name}.")
    return Query(text=source)


def _listed(cursor: TokenCursor, read: Callable[[], T]) -> tuple[T, ...]:
    """Read a list in parentheses that may be empty."""
    if cursor.take("(", ")"):
        return ()
    return cursor.items(read)


def _read_parameter(cursor: TokenCursor) -> Parameter:
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


@handles(CreateFunction)
def create_function(scope: Scope, statement: CreateFunction) -> Outcome:
    """Create a function, or replace one.

    Raises:
        InputError: The name is taken, the function would call itself, or its source is
            invalid.
        EngineError: Spark rejects it.
    """
    name = scope.name(statement.target.name)
    # What the old version needs may be gone, so replacing it must not read it.
    scope.calls = tuple(call for call in scope.calls if scope.name(call) != name)
    if not may_create(scope, statement, "function"):
        return Outcome()
    with put_back_after_errors(scope, name):
        scope.overlay.put_function(name, _function(scope, statement, name))
        # Mounting runs the engine's own checks.
        scope.show([name])
    return Outcome()


def _function(scope: Scope, statement: CreateFunction, name: RelationName) -> Function:
    body = statement.body
    text, reads, calls = body.text, tuple[str, ...](), set[str]()
    if statement.language == "sql":
        check_view(scope, body, "function")
        found = [
            call
            for call in calls_of(body.text)
            # The function may not be on the branch yet. Its own name counts all the same, to
            # refuse a recursion.
            if scope.name(call.name) == name or scope.function(call.name) is not None
        ]
        calls = {str(scope.name(call.name)) for call in found}
        if str(name) in calls:
            raise InputError(f"The function {name} would call itself, which Spark does not allow.")
        text = qualified(body, scope.schema, scope.temporaries.views(), found)
        reads = tuple(sorted({str(read) for read in scope.reads(body.reads)}))
    elif statement.runtime is not None and statement.runtime != _python_version():
        scope.warnings.append(
            f"The function {name} asks for Python {statement.runtime}; in a session functions "
            f"run in the session's own Python, which is {_python_version()}."
        )
    return Function(
        text=text,
        language=statement.language,
        shape=statement.shape,
        parameters=statement.parameters,
        returns=statement.returns,
        columns=statement.columns,
        deterministic=statement.deterministic,
        handler=statement.handler,
        packages=statement.packages,
        runtime=statement.runtime,
        reads=reads,
        calls=tuple(sorted(calls)),
        comment=statement.comment,
    )


def _python_version() -> str:
    return ".".join(platform.python_version_tuple()[:2])


@reads("drop function")
def _read_drop_function(cursor: TokenCursor) -> DropFunction:
    if_exists = read_if_exists(cursor)
    target = cursor.target()
    cursor.end()
    return DropFunction(target=target, if_exists=if_exists)


@handles(DropFunction)
def drop_function(scope: Scope, statement: DropFunction) -> Outcome:
    """Drop a function as `drop_relation` does a table."""
    return drop(scope, scope.name(statement.target.name), "function", statement.if_exists)


def read_describe_function(cursor: TokenCursor) -> DescribeFunction | None:
    """Read what follows `describe function`; None where an operator is described."""
    # `describe function extended` is about a function of that name.
    extended = cursor.ahead().kind is not Kind.END and cursor.take("extended")
    if not is_name(cursor.token):
        return None
    target = cursor.target()
    cursor.end()
    return DescribeFunction(target=target, extended=extended)


_TRUTH_TEXTS: Final = {None: "", True: "true", False: "false"}


@handles(DescribeFunction)
def describe_function(scope: Scope, statement: DescribeFunction) -> Outcome:
    """Describe a function: `function_desc`, one row per fact. Spark describes its own.

    Raises:
        EngineError: There is no such function.
    """
    name = scope.name(statement.target.name)
    entry = scope.overlay.entry(name)
    bare = statement.target.name.schema is None
    if not isinstance(entry, FunctionEntry) or (
        # Decision 15: without a schema, a name means Spark's own function first.
        bare and scope.session.has_function(statement.target.name.identifier)
    ):
        return Outcome(rows=scope.session.query(scope.text))
    function = scope.overlay.function(entry.function)
    facts = [
        ("Function", str(name)),
        ("Type", function.shape.upper()),
        ("Input", ", ".join(map(_parameter, function.parameters))),
        ("Returns", _returns(function)),
    ]
    if statement.extended:
        facts += [
            ("Language", function.language.upper()),
            ("Comment", function.comment or ""),
            ("Deterministic", _TRUTH_TEXTS[function.deterministic]),
            ("Version", entry.function),
            ("Handler", function.handler or ""),
            ("Body", function.text),
        ]
    width = max(len(key) for key, _ in facts) + 1
    lines = [[f"{key + ':':<{width}} {value}"] for key, value in facts if value]
    return Outcome(rows=Listing.of(["function_desc"], lines))


def _parameter(parameter: Parameter) -> str:
    default = f" default {parameter.default}" if parameter.default is not None else ""
    comment = f" {quote_text(parameter.comment)}" if parameter.comment else ""
    return f"{parameter.name} {parameter.type}{default}{comment}"


def _returns(function: Function) -> str:
    if function.returns is not None:
        return function.returns
    return ", ".join(f"{column.name} {column.type}" for column in function.columns)


@reads("show functions", "show user functions", "show all functions")
def _read_show_functions(cursor: TokenCursor) -> ShowFunctions:
    kind = cursor.tokens[1].word
    schema = read_schema_filter(cursor)
    pattern: str | None = None
    if cursor.take("like") or not cursor.done:
        if cursor.token.kind is Kind.STRING:
            pattern = cursor.string()
        else:
            name = cursor.target().name
            schema, pattern = name.schema or schema, name.identifier
    cursor.end()
    return ShowFunctions(kind="user" if kind == "user" else "all", schema=schema, pattern=pattern)


@handles(ShowFunctions)
def show_functions(scope: Scope, statement: ShowFunctions) -> Outcome:
    """List functions of the branch and temporary ones, and Spark's own if asked for: `function`.

    Raises:
        NotFoundError: There is no such schema.
    """
    schema = (statement.schema or scope.schema).lower()
    if statement.schema is not None:
        scope.overlay.require_schema(schema)
    # Spark lists the functions of schemas that its own catalog has.
    scope.session.ensure_schema(schema)
    known = [str(row[0]) for row in scope.session.query(scope.text).fetch()]
    held = [
        identifier
        for identifier, entry in scope.overlay.entries(schema).items()
        if isinstance(entry, FunctionEntry)
    ]
    # Spark's catalog has the functions that statements have called so far; the branch's tree has
    # all.
    names = [name for name in known if not name.startswith(f"{CATALOG}.")]
    names += [f"{CATALOG}.{schema}.{name}" for name in like(held, statement.pattern)]
    return Outcome(rows=Listing.of(["function"], [[name] for name in sorted(names)]))
