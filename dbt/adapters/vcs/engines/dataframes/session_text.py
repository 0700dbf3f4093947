"""The texts of one session: each name of the branch becomes what the session made for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dbt.adapters.vcs.core.errors import UnsupportedError, VcsError
from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.engines.dataframes.functions import function_definition, program
from dbt.adapters.vcs.engines.dataframes.name_registry import (
    PREFIX,
    MountedFiles,
    MountedFunction,
    MountedView,
    OwnTemporaries,
    Recorded,
    missing,
    rewritten,
)
from dbt.adapters.vcs.engines.dataframes.session_views import SessionViews, digest
from dbt.adapters.vcs.engines.dataframes.spark_rows import user_function_for
from dbt.adapters.vcs.engines.port import (
    GLOBAL_TEMPORARY,
    PRIVATE,
    TableMount,
    TemporaryDefinition,
)
from dbt.adapters.vcs.sql.syntax.insertion import Insert
from dbt.adapters.vcs.sql.syntax.lexer import tokenize
from dbt.adapters.vcs.sql.syntax.mentions import calls_of
from dbt.adapters.vcs.sql.syntax.names import SESSION, Name
from dbt.adapters.vcs.sql.syntax.parser import (
    CreateTemporaryView,
    Query,
    SparkCommand,
    Statement,
    for_spark,
    parse,
    query_of,
)
from dbt.adapters.vcs.table.quoting import quoted

_LOCAL: Final = ("session", SESSION, GLOBAL_TEMPORARY)
_INTERNAL: Final = PREFIX[:-1]
# Decision 27: views have this column only where it is read, since it costs each row.
_METADATA: Final = "_metadata"


class SessionText:
    """Rewrites what one session sends."""

    def __init__(
        self,
        spark: Any,
        views: SessionViews,
        functions: SessionFunctions,
        temporaries: OwnTemporaries,
    ) -> None:
        self._spark = spark
        self._registry = views.registry
        self._views = views
        self._functions = functions
        self._temporaries = temporaries
        self.schema = "default"
        # The view or function that the last statement makes: which kind, its name, what it is.
        self._making: tuple[dict[str, Recorded], str, Recorded] | None = None

    def keep_made(self) -> None:
        """Remember what the last statement makes, now that Spark has carried it out."""
        if self._making is not None:
            recorded, name, record = self._making
            recorded[name] = record
        self.forget_made()

    def forget_made(self) -> None:
        """Forget what the last statement would have made: Spark may have refused it."""
        self._making = None

    def sent(self, text: str) -> str:
        """Return a statement as the server is to run it."""
        statement = _statement_of(text)
        # Wherever the word is: a column too many costs time, a missing one is an error.
        located = _METADATA in text.lower()
        if isinstance(statement, Query):
            # Nothing but white space, comments and a semicolon is around a query.
            return self.query(statement, located=located)
        if isinstance(statement, Insert):
            return rewritten(
                statement.text, statement.reads, self._relation(located), self._function()
            )
        if isinstance(statement, CreateTemporaryView):
            return self._temporary_view(statement)
        explained = _query_start(text) if isinstance(statement, SparkCommand) else None
        if explained is not None:
            sent = self.sent(text[explained:])
            self._record_cached(text, explained, sent)
            return text[:explained] + sent
        if not isinstance(statement, SparkCommand):
            statement = for_spark(text)
        if _makes_function(statement.text):
            return self._recorded_function(statement.text)
        relation = self._relation(located, known_only=True)
        return rewritten(statement.text, statement.mentions, relation, self._function())

    def query(self, query: Query, *, schema: str | None = None, located: bool = False) -> str:
        """Return a query as it is sent; `schema` is that of unqualified names in it."""
        return rewritten(
            query.text, query.reads, self._relation(located, schema), self._function(schema)
        )

    def body(self, text: str, schema: str | None = None) -> str:
        """Return the body of a SQL function as it is sent."""
        return self.query(query_of(text, tokenize(text)[:-1]), schema=schema)

    def shown(self, name: RelationName) -> str | None:
        """Return what shows a relation of the branch here, as SQL; None if nothing does."""
        mounted = self._registry.relations.get(name)
        if mounted is None:
            return None
        if isinstance(mounted, TableMount):
            made = self._views.named(mounted)
        elif isinstance(mounted, MountedFiles):
            made = self._views.files(mounted)
        else:
            made = self._view(mounted)
        self._registry.label(made.strip("`"), name)
        return made

    def _view(self, mounted: MountedView) -> str:
        parsed = parse(mounted.text)
        assert isinstance(parsed, Query)
        return self._views.query(self.query(parsed, schema="default"), mounted.columns)

    def _temporary_view(self, statement: CreateTemporaryView) -> str:
        if statement.global_:
            raise UnsupportedError(
                "A global temporary view would be seen by other sessions, which don't have the "
                "branch. Create a temporary view, or a view of the branch."
            )
        if statement.query is None:
            return statement.text
        sent = self.query(statement.query)
        name = statement.target.name.identifier.lower()
        record = Recorded(self._definition(statement.query.text), statement.rewritten, sent)
        self._making = (self._temporaries.recorded_views, name, record)
        return statement.rewritten(sent)

    def _record_cached(self, text: str, start: int, sent: str) -> None:
        """Remember the view that `cache [lazy] table ... as ...` makes."""
        tokens = tokenize(text)
        if tokens[0].word != "cache":
            return
        place = next(n for n, token in enumerate(tokens) if token.word == "table")
        name = tokens[place + 1].text.lower()
        record = Recorded(self._definition(text[start:]), lambda new: text[:start] + new, sent)
        self._making = (self._temporaries.recorded_views, name, record)

    def _recorded_function(self, statement: str) -> str:
        """Return `create temporary function ... return ...` as it is sent, and remember it."""
        tokens = tokenize(statement)
        place = next((n for n, token in enumerate(tokens) if token.word == "return"), None)
        named = next((n for n, token in enumerate(tokens) if token.word == "function"), None)
        if place is None or named is None:
            return statement
        behind = tokens[place + 1].start
        head, body = statement[:behind], statement[behind:]
        name = tokens[named + 1].text.lower()
        record = Recorded(self._definition(body), lambda sent: head + sent, self.body(body))
        self._making = (self._temporaries.recorded_functions, name, record)
        return head + record.sent

    def _definition(self, text: str) -> TemporaryDefinition:
        reads = query_of(text, tokenize(text)[:-1]).reads
        views = self._temporaries.temporary_views()
        functions = self._temporaries.temporary_functions()
        return TemporaryDefinition(
            text=text,
            schema=self.schema,
            views=frozenset(_local(read.name) for read in reads) & views,
            functions=frozenset(_local(call.name) for call in calls_of(text)) & functions,
        )

    def _relation(
        self, located: bool, schema: str | None = None, *, known_only: bool = False
    ) -> Callable[[Name], str | None]:
        default = schema or self.schema

        def found(name: Name) -> str | None:
            if (name.schema or "").lower() in _LOCAL:
                return None
            relation = name.relation(default)
            if relation.schema == PRIVATE:
                is_known = relation.identifier in self._registry.versions
                return (
                    self._views.version(relation.identifier, located=located) if is_known else None
                )
            if name.schema is None and schema is None and self._is_temporary(relation):
                return None
            made = self.shown(relation)
            # Decision 27: the server's own table of that name must not be read.
            return missing(relation) if made is None and not known_only else made

        return found

    def _is_temporary(self, relation: RelationName) -> bool:
        """Return whether a bare name is a temporary view, brought up to date."""
        name = relation.identifier
        if name.startswith(_INTERNAL) or name in self._temporaries.mounted:
            return True
        if name not in self._temporaries.temporary_views():
            return False
        record = self._temporaries.recorded_views.get(name)
        if record is not None:
            text = record.definition.text
            query = query_of(text, tokenize(text)[:-1])
            # Its names mean what they meant where it was made, in the versions of now.
            sent = self._in_schema(record.definition.schema, lambda: self.query(query))
            if sent != record.sent:
                # The branch shows other rows under a name in it.
                self._spark.sql(f"drop view {quoted(name)}")
                self._spark.sql(record.statement(sent))
                record.sent = sent
        return True

    def _function(self, schema: str | None = None) -> Callable[[Name], str | None]:
        default = schema or self.schema

        def found(name: Name) -> str | None:
            if (name.schema or "").lower() in _LOCAL:
                return None
            if name.schema is None:
                self._refresh_function(name.identifier.lower())
                if not self._registry.functions or self._functions.has(name.identifier):
                    return None
            relation = name.relation(default)
            mounted = self._registry.functions.get(relation)
            if mounted is None:
                return None
            made = self._functions.callable_name(relation, mounted, self.body)
            self._registry.label(made.strip("`"), relation)
            return made

        return found

    def _refresh_function(self, name: str) -> None:
        record = self._temporaries.recorded_functions.get(name)
        if record is None or name not in self._temporaries.temporary_functions():
            return
        definition = record.definition
        sent = self._in_schema(definition.schema, lambda: self.body(definition.text))
        if sent != record.sent:
            self._spark.sql(f"drop temporary function {quoted(name)}")
            self._spark.sql(record.statement(sent))
            record.sent = sent

    def _in_schema(self, schema: str, text: Callable[[], str]) -> str:
        # `use` may have changed it since.
        before, self.schema = self.schema, schema
        try:
            return text()
        finally:
            self.schema = before


def _statement_of(text: str) -> Statement:
    try:
        return parse(text)
    except VcsError:
        # What isn't possible on a branch may concern a temporary view.
        return for_spark(text)


def _query_start(text: str) -> int | None:
    """Return where the statement begins that another one explains, caches or describes."""
    tokens = tokenize(text)
    first = tokens[0].word
    for index, token in enumerate(tokens[1:], 1):
        if first == "cache" and tokens[index - 1].word != "as":
            continue
        begins = token.word in ("select", "with", "from", "values", "insert")
        if begins and first in ("explain", "cache", "describe", "desc"):
            return token.start
    return None


def _makes_function(text: str) -> bool:
    words = [token.word for token in tokenize(text)[:5]]
    return words[0] == "create" and "temporary" in words and "function" in words


def _local(name: Name) -> str:
    is_local = name.schema is None or name.schema.lower() in _LOCAL[:2]
    return name.identifier.lower() if is_local else ""


class SessionFunctions:
    """Makes functions in one session, each once, under names made from their contents."""

    def __init__(self, spark: Any, views: SessionViews, temporaries: OwnTemporaries) -> None:
        self._spark = spark
        self._views = views
        self._temporaries = temporaries
        self._made: set[str] = set()
        self._system: frozenset[str] | None = None
        self.varying: set[str] = set()

    def has(self, identifier: str) -> bool:
        """Return whether an unqualified name calls one of Spark's own or temporary functions."""
        name = identifier.lower()
        return name in self._own_of_spark() or name in self._temporaries.temporary_functions()

    def others(self) -> frozenset[str]:
        """Return functions in plans, lower case, that may vary."""
        rows = self._spark.sql("show `user` functions").collect()
        names = {row[0].rpartition(".")[2].lower() for row in rows}
        return frozenset(name for name in names if name not in self._made) | self.varying

    def callable_name(
        self, name: RelationName, mounted: MountedFunction, sent: Callable[[str], str]
    ) -> str:
        """Return the function for one of the branch, as SQL.

        Args:
            sent: Returns a body as it is sent.
        """
        function = mounted.function
        if function.language == "python":
            body = self._program(name, mounted)
            # A SQL function takes the values of one row, so an aggregate has none on top.
            if function.shape == "aggregate":
                return body
            arguments = ", ".join(quoted(parameter.name) for parameter in function.parameters)
            body = f"{body}({arguments})"
        else:
            body = sent(function.text)
        definition = function_definition(function, body)
        made = self._views.registry.own(f"x_{digest(repr((definition, self._views.changes)))}")
        if made not in self._made:
            self._spark.sql(f"create or replace temporary function {quoted(made)}{definition}")
            self._made.add(made)
        return quoted(made)

    def _program(self, name: RelationName, mounted: MountedFunction) -> str:
        made = self._views.registry.own(f"p_{mounted.id}")
        if made not in self._made:
            found = program(name, mounted.function)
            (returns,) = self._views.types([found.returns])
            self._spark.udf.register(
                made,
                user_function_for(self._spark)(
                    found.call,
                    returns,
                    name=name.identifier,
                    evalType=found.kind,
                    deterministic=found.deterministic,
                ),
            )
            self._made.add(made)
            if not found.deterministic:
                self.varying.add(made)
        return quoted(made)

    def _own_of_spark(self) -> frozenset[str]:
        if self._system is None:
            rows = self._spark.sql("show system functions").collect()
            self._system = frozenset(row[0].lower() for row in rows)
        return self._system
