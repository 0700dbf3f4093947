"""Functions of a branch: creating, describing and listing them."""

from __future__ import annotations

import platform
from typing import Final

from dbt.adapters.vcs.core.errors import InputError, VcsError
from dbt.adapters.vcs.core.model import (
    Absent,
    Function,
    FunctionEntry,
    Parameter,
    RelationName,
)
from dbt.adapters.vcs.sql.function_statement import (
    CreateFunction,
    DescribeFunction,
    ShowFunctions,
)
from dbt.adapters.vcs.sql.handler_registry import handles
from dbt.adapters.vcs.sql.show_handler import like
from dbt.adapters.vcs.sql.syntax.calls import calls_of
from dbt.adapters.vcs.sql.syntax.literals import quote_text
from dbt.adapters.vcs.sql.syntax.names import CATALOG
from dbt.adapters.vcs.sql.syntax.statement import qualified
from dbt.adapters.vcs.sql.time_travel import check_view
from dbt.adapters.vcs.workspace.statement_scope import Listing, Outcome, Scope

_SAID: Final = {None: "", True: "true", False: "false"}


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
    scope.overlay.require_schema(name.schema)
    existing = scope.overlay.entry(name)
    if existing is not None:
        if not isinstance(existing, FunctionEntry):
            noun = existing.noun
            raise InputError(f"{name} is a {noun}. Drop it first: drop {noun} {name}.")
        if statement.if_not_exists:
            return Outcome()
        if not statement.replace:
            raise InputError(
                f"{name} already exists. Drop it first, or use create or replace function."
            )
    scope.overlay.put_function(name, _function(scope, statement, name))
    try:
        # Mounting runs the engine's own checks.
        scope.show([name])
    except VcsError:
        scope.overlay.put(name, Absent if existing is None else existing)
        raise
    return Outcome()


def _function(scope: Scope, statement: CreateFunction, name: RelationName) -> Function:
    body = statement.body
    text, reads, calls = body.text, tuple[str, ...](), set[str]()
    if statement.language == "sql":
        check_view(scope, body, "function")
        found = [
            call
            for call in calls_of(body.text)
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
            ("Deterministic", _SAID[function.deterministic]),
            ("Version", entry.function),
            ("Handler", function.handler or ""),
            ("Body", function.text),
        ]
    width = max(len(key) for key, _ in facts) + 1
    lines = [[f"{key + ':':<{width}} {value}"] for key, value in facts if value]
    return Outcome(rows=Listing.of(["function_desc"], lines))


@handles(ShowFunctions)
def show_functions(scope: Scope, statement: ShowFunctions) -> Outcome:
    """List functions of the branch and temporary ones, and Spark's own if asked for: `function`.

    Raises:
        NotFoundError: There is no such schema.
    """
    schema = (statement.schema or scope.schema).lower()
    if statement.schema is not None:
        scope.overlay.require_schema(schema)
    scope.session.ensure_schema(schema)
    known = [str(row[0]) for row in scope.session.query(scope.text).fetch()]
    held = [
        identifier
        for identifier, entry in scope.overlay.entries(schema).items()
        if isinstance(entry, FunctionEntry)
    ]
    names = [name for name in known if not name.startswith(f"{CATALOG}.")]
    names += [f"{CATALOG}.{schema}.{name}" for name in like(held, statement.pattern)]
    return Outcome(rows=Listing.of(["function"], [[name] for name in sorted(names)]))


def _parameter(parameter: Parameter) -> str:
    default = f" default {parameter.default}" if parameter.default is not None else ""
    comment = f" {quote_text(parameter.comment)}" if parameter.comment else ""
    return f"{parameter.name} {parameter.type}{default}{comment}"


def _returns(function: Function) -> str:
    if function.returns is not None:
        return function.returns
    return ", ".join(f"{column.name} {column.type}" for column in function.columns)
