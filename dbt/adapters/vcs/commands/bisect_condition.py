"""Conditions of a bisect: a dbt test or a query, answered for one commit."""

from __future__ import annotations

import hashlib
import json
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import pyarrow as pa

from dbt.adapters.vcs.client.lazy_table import LazyTable, open_table
from dbt.adapters.vcs.core.errors import (
    DamagedError,
    EngineError,
    InputError,
    NotFoundError,
    listed,
)
from dbt.adapters.vcs.core.graph import Mark
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.model import (
    Entry,
    Function,
    FunctionEntry,
    Origin,
    RelationName,
    TableEntry,
    View,
    ViewEntry,
)
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.tree_changes import TreeReader
from dbt.adapters.vcs.engines.port import Engine, Rows
from dbt.adapters.vcs.sql import metadata_tables
from dbt.adapters.vcs.sql.syntax.excerpts import excerpt
from dbt.adapters.vcs.sql.syntax.lexer import Token, tokenize
from dbt.adapters.vcs.sql.syntax.names import is_name
from dbt.adapters.vcs.sql.syntax.parser import (
    Query,
    SparkCommand,
    query_of_body,
    query_of_view,
    read,
    split,
)
from dbt.adapters.vcs.sql.syntax.scan import QUERY_WORDS
from dbt.adapters.vcs.table.limits import LIMITS
from dbt.adapters.vcs.workspace.lines.line_workspace import Connection, Workspace
from dbt.adapters.vcs.workspace.lines.lines import PinnedLine

Kind: TypeAlias = Literal["truth", "failures", "by columns"]
"""How a result is read. `truth`: one boolean, good if true. `failures`: the rows that are wrong,
good if there are none. `by columns`: the first if the only column is boolean, else the second."""

FORMS: Final = (
    'one boolean, good while it is true: "select count(*) = 0 from analytics.orders where amount '
    '< 0"; or a query of the wrong rows, good while there are none: "select * from '
    'analytics.orders where amount < 0"'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BisectCondition:
    """What is asked of each commit.

    Attributes:
        label: What the user named: the text, or the test's id.
        text: The query, one statement without a semicolon.
        kind: How its result is read.
    """

    label: str
    text: str
    kind: Kind

    @property
    def option(self) -> str:
        """The option that the label was given with."""
        # No query and no expression begins like the id of a node.
        return "--test" if self.label.startswith("test.") else "--sql"


def condition_of(text: str) -> BisectCondition:
    """Return the condition that a text is: a query, or an expression that is true or false.

    Raises:
        InputError: It is neither, or more than one statement.
    """
    parts = split(text)
    if len(parts) != 1:
        raise InputError(
            f"Expected one condition in --sql, found {len(parts) or 'no'} statements. Write "
            f"{FORMS}."
        )
    (part,) = parts
    # An expression is no statement, so the reader takes it for a command of Spark's.
    if not isinstance(read(part).statement, Query | SparkCommand):
        raise InputError(
            f"Expected a condition in --sql, found `{excerpt(part)}`, which is no query. "
            f"Write {FORMS}."
        )
    # Whether a query gives a verdict or wrong rows shows only in the columns of its result.
    if tokenize(part)[0].word in QUERY_WORDS:
        return BisectCondition(label=part, text=part, kind="by columns")
    # On lines of its own, since the text may end in a comment.
    return BisectCondition(label=part, text=f"select (\n{part}\n) as is_good", kind="truth")


# dbt's defaults: a test fails if it has any row, which takes no count of all of them.
_PLAIN: Final = ("count(*)", "!= 0")


def find_test(target: Path, name: str) -> BisectCondition:
    """Return a test as the condition that it passes.

    A test with the severity `warn` passes if it doesn't warn, another one if it is no error.

    Args:
        target: The folder that dbt writes to, `target`.
        name: Name of the test, or its unique id.

    Raises:
        NotFoundError: There is no such test.
        InputError: dbt has written nothing there, has not compiled the test, or several tests have
            the name.
    """
    tests = _tests(target)
    wanted = name.strip()
    found = [test for test in tests if wanted in (test["unique_id"], test.get("name"))]
    if not found:
        raise NotFoundError(
            f"There is no test {wanted!r} in {target / 'manifest.json'}. "
            f"{_names_of_tests(wanted, tests)}"
        )
    if len(found) > 1:
        ids = ", ".join(sorted(test["unique_id"] for test in found))
        raise InputError(f"{len(found)} tests are named {wanted!r}. Give the id of one: {ids}.")
    (test,) = found
    # `dbt parse` writes a manifest without compiled code, and leaves the files of an earlier
    # compile.
    text = test.get("compiled_code") or _compiled_text(target, test)
    statements = split(text or "")
    if len(statements) != 1:
        raise InputError(
            f"The test {wanted!r} is not compiled in {target}. Run: dbt compile --select "
            f"{test.get('name')}"
        )
    return _condition(test, statements[0])


def _condition(test: Mapping[str, Any], text: str) -> BisectCondition:
    config: Mapping[str, Any] = test.get("config") or {}
    warns = str(config.get("severity") or "error").lower() == "warn"
    # What decides is the level that dbt would report: a test of severity warn never errors.
    counts = str(config.get("fail_calc") or "count(*)").strip()
    fails = str(config.get("warn_if" if warns else "error_if") or "!= 0").strip()
    label = str(test["unique_id"])
    if (counts.lower(), fails) == _PLAIN:
        return BisectCondition(label=label, text=text, kind="failures")
    # As in dbt's own query, failures are counted after the limit. The text may end with a limit
    # of its own, so it is wrapped first.
    limit = f"\nlimit {int(config['limit'])}" if config.get("limit") else ""
    # As in dbt, a test without a number of failures passes.
    wrapped = (
        f"select coalesce(not ({counts} {fails}), true) as is_good from (\n"
        f"select * from (\n{text}\n) as dbt_internal_rows{limit}\n) as dbt_internal_test"
    )
    return BisectCondition(label=label, text=wrapped, kind="truth")


def _tests(target: Path) -> list[Mapping[str, Any]]:
    path = target / "manifest.json"
    try:
        nodes = json.loads(path.read_text(encoding="utf-8"))["nodes"]
    except FileNotFoundError:
        raise InputError(
            f"Expected what dbt compiled in {path}, found no such file. Run dbt compile in the "
            "project, or give --project-dir."
        ) from None
    # ValueError: the text is no JSON. KeyError, TypeError: it is the JSON of something else.
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} can't be read: {error}. Run: dbt compile") from error
    return [node for node in nodes.values() if node.get("resource_type") == "test"]


def _compiled_text(target: Path, test: Mapping[str, Any]) -> str | None:
    """Return what dbt wrote when it last compiled the test; a later manifest may lack it."""
    source, path = Path(test["original_file_path"]), Path(test["path"])
    # dbt writes generic tests below a folder that is named like the file that declares them.
    inner = source if source.name == path.name else source / path
    file = target / "compiled" / test["package_name"] / inner
    return file.read_text(encoding="utf-8") if file.is_file() else None


def _names_of_tests(wanted: str, tests: Iterable[Mapping[str, Any]]) -> str:
    names = sorted(str(test.get("name")) for test in tests)
    near = [name for name in names if wanted.lower() in name.lower()] or names
    if not near:
        return "The project has no tests."
    return f"There are {listed(near, 10)}. For new tests run: dbt compile"


# Enough to tell one row from several.
_FEW: Final = 2


class Answer(NamedTuple):
    """What a look found.

    Attributes:
        mark: Good, bad, or that it can't be told.
        reason: Why it can't be told; else empty.
    """

    mark: Mark
    reason: str = ""


class Probes:
    """Probes commits: answers a condition on each.

    Attributes:
        done: How many commits were computed on.
    """

    def __init__(
        self,
        repository: Repository,
        condition: BisectCondition,
        schema: str,
        engine: Callable[[], Engine],
    ) -> None:
        """Take a condition, the schema of names without one, and what makes the engine.

        Nothing is looked at yet, and the engine is made when a look first needs it.
        """
        self.done = 0
        self._condition = condition
        self._repository = repository
        statement, calls = read(condition.text)
        assert isinstance(statement, Query)
        self._query = statement
        self._plain = _plain_query(statement)
        self._calls = sorted({call.relation(schema) for call in calls})
        # A name with a version of its own is no part of what the commit shows; see `_reads_more`.
        self._reads = sorted({r.name.relation(schema) for r in statement.reads if r.at is None})
        self._versions: dict[CommitId, VersionsRead | None] = {}
        self._answers: dict[str, Answer] = {}
        self._workspace = Workspace(
            repository,
            PinnedLine(_no_head, "a bisection only reads"),
            engine,
            schema=schema,
        )
        self._connection: Connection | None = None

    def versions(self, commit: CommitId) -> VersionsRead | None:
        """Return what the condition reads on a commit; None if the commit can't be read."""
        if commit not in self._versions:
            try:
                walk = _Walk(self._repository, commit, self._query)
                for name in self._reads:
                    walk.read(name)
                for name in self._calls:
                    walk.call(name)
                self._versions[commit] = walk.found()
            except DamagedError:
                # Its rows may be collected: a look would fail, and the search goes around it.
                self._versions[commit] = None
        return self._versions[commit]

    def digest(self, commit: CommitId) -> str | None:
        """Return one text for the versions read on a commit; None if it can't be read."""
        read = self.versions(commit)
        return None if read is None else read.digest

    def at(self, commit: CommitId) -> Answer:
        """Return whether a commit is good.

        Raises:
            InputError: The result of the query is in no form that says so.
        """
        read = self.versions(commit)
        if read is None:
            return Answer(Mark.SKIPPED, "what it shows has been collected or is damaged")
        if read.missing:
            gone = ", ".join(map(str, read.missing))
            return Answer(Mark.SKIPPED, f"there is no {gone}")
        # Commits that show the same versions share an answer.
        if read.digest not in self._answers:
            self._answers[read.digest] = self._compute(read, commit)
        return self._answers[read.digest]

    def close(self) -> None:
        """Release the engine."""
        if self._connection is not None:
            self._connection.close()
        self._workspace.close()

    def _compute(self, read: VersionsRead, commit: CommitId) -> Answer:
        self.done += 1
        try:
            # A count of one table needs no Spark, whose start takes longer than most bisections.
            is_good = self._plain_answer(read, commit)
            rows = None if is_good is not None else self._rows(commit)
            # Fetched here, since an engine may fail as late as that.
            values = rows.fetch(_FEW) if rows is not None else []
        # Decision 33: a failed look is skipped, not bad: a table or column may be younger than
        # the commit.
        except (DamagedError, EngineError, InputError) as error:
            return Answer(Mark.SKIPPED, str(error))
        if rows is not None:
            is_good = _verdict(self._condition, [column.type for column in rows.columns], values)
        if is_good is None:
            return Answer(Mark.SKIPPED, "the condition is NULL")
        return Answer(Mark.GOOD if is_good else Mark.BAD)

    def _plain_answer(self, read: VersionsRead, commit: CommitId) -> bool | None:
        """Return whether a commit is good; None if an engine has to tell."""
        plain = self._plain
        # A view or a function is an entry besides the table below it, and only an engine expands
        # it.
        if plain is None or len(read.entries) != 1:
            return None
        ((name, entry),) = read.entries
        if not isinstance(entry, TableEntry):
            return None
        table = _scan_of(plain, self._condition.kind, open_table(self._repository, name, commit))
        if table is None:
            return None
        if plain.compared is None:
            # One row is enough: batches without rows are left out.
            return next(table.to_batches(), None) is None
        sign, number = plain.compared
        return _COMPARED[sign](table.count(), number)

    def _rows(self, commit: CommitId) -> Rows:
        if self._connection is None:
            self._connection = self._workspace.connect("bisect")
        overlay = self._workspace.begin(commit)
        outcome = self._connection.execute(
            self._condition.text, overlay, origin=Origin(), read_only=True
        )
        assert outcome.rows is not None, "a query has rows"
        return outcome.rows


def _verdict(
    condition: BisectCondition, types: list[str], rows: list[tuple[object, ...]]
) -> bool | None:
    """Return what a result says; None if it is NULL.

    Raises:
        InputError: It is one boolean, but not of one row.
    """
    if condition.kind == "failures" or (condition.kind == "by columns" and types != ["boolean"]):
        return not rows
    if len(rows) != 1:
        found = "no row" if not rows else "several rows"
        raise InputError(
            f"Expected one row with one boolean from the condition, found {found}. Write {FORMS}."
        )
    value = rows[0][0]
    return None if value is None else bool(value)


def _no_head() -> CommitId:
    raise AssertionError("each look names its commit")


_COUNT: Final = re.compile(r"count \( [*1] \) ([<>=! ]+) ([0-9]{1,18})( as)?( \w+)?", re.ASCII)
_COMPARED: Final[Mapping[str, Callable[[int, int], bool]]] = {
    "=": operator.eq,
    "==": operator.eq,
    "<>": operator.ne,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class PlainQuery(NamedTuple):
    """`select <columns> from t [where c]`, or `select count(*) = 0 from t [where c]`.

    Attributes:
        columns: The columns; empty for all.
        where: The condition, as written; None for none.
        compared: The operator and the number that the count is compared with; None for rows.
    """

    columns: tuple[str, ...]
    where: str | None
    compared: tuple[str, int] | None


def _plain_query(query: Query) -> PlainQuery | None:
    """Return a query as a plain one; None if it is more than that."""
    if len(query.reads) != 1 or query.files or query.diffs or query.reads[0].at is not None:
        return None
    before, after = _tokens_around(query)
    if before[0].word != "select" or before[-1].word != "from":
        return None
    if after and after[0].word != "where":
        return None
    where = query.text[after[0].end : after[-1].end] if after else None
    compared = _comparison(before[1:-1])
    columns = () if compared is not None else _columns(before[1:-1])
    return None if columns is None else PlainQuery(columns, where, compared)


def _tokens_around(query: Query) -> tuple[list[Token], list[Token]]:
    """Return the tokens before and after the one relation of a query."""
    (read,) = query.reads
    tokens = tokenize(query.text)[:-1]
    return (
        [token for token in tokens if token.end <= read.start],
        [token for token in tokens if token.start >= read.end],
    )


def _scan_of(plain: PlainQuery, kind: Kind, table: LazyTable) -> LazyTable | None:
    """Return what a query reads; None if this process can't read it, or not in a short time."""
    # Of a test the number of rows decides, and a count is one row whatever its value.
    if plain.compared is not None and kind == "failures":
        return None
    try:
        found = table.scan(list(plain.columns) or None, plain.where)
        types = [] if plain.compared is not None else found.schema.types
    except InputError:
        return None
    # One boolean column is the answer itself and no wrong row: the engine reads its value.
    if kind != "failures" and types == [pa.bool_()]:
        return None
    # Manifests count all rows of a version, however large it is.
    if plain.compared is not None and plain.where is None:
        return found
    return found if sum(block.rows for block in found.blocks) <= LIMITS.rows else None


def _comparison(tokens: Sequence[Token]) -> tuple[str, int] | None:
    """Return the comparison of `count(*) <> 0 [as name]`, None if tokens are anything else."""
    found = _COUNT.fullmatch(" ".join(token.word for token in tokens))
    sign = found[1].replace(" ", "") if found is not None else ""
    return (sign, int(found[2])) if found is not None and sign in _COMPARED else None


def _columns(tokens: Sequence[Token]) -> tuple[str, ...] | None:
    if [token.word for token in tokens] == ["*"]:
        return ()
    names, commas = tokens[::2], tokens[1::2]
    if len(tokens) % 2 == 0 or any(token.word != "," for token in commas):
        return None
    return tuple(token.text for token in names) if all(map(is_name, names)) else None


class VersionsRead(NamedTuple):
    """What a query reads on one commit.

    Attributes:
        entries: The tables, views and functions, through views, by name.
        missing: Relations that the commit doesn't have, by name.
        moment: The commit, if the query reads more of it than these versions; else None.
    """

    entries: tuple[tuple[RelationName, Entry], ...]
    missing: tuple[RelationName, ...]
    moment: CommitId | None

    @property
    def digest(self) -> str:
        """One text for what was read: the same answer belongs to it."""
        told = [f"{name} {entry.noun} {entry.version}" for name, entry in self.entries]
        # A missing relation is part of what was read: a later commit that has it differs.
        lost = [f"{name} missing" for name in self.missing]
        text = "\n".join([*told, *lost, f"at {self.moment}"])
        return hashlib.sha256(text.encode()).hexdigest()


class _Walk:
    """Follows a query's relations on one commit, each once."""

    def __init__(self, repository: Repository, commit: CommitId, query: Query) -> None:
        self._objects = repository.objects
        self._commit = commit
        self._tree: TreeReader = repository.tree(commit)
        self._entries: dict[RelationName, Entry] = {}
        self._missing: set[RelationName] = set()
        self._reads_more = _reads_more(query)

    def found(self) -> VersionsRead:
        return VersionsRead(
            entries=tuple(sorted(self._entries.items())),
            missing=tuple(sorted(self._missing)),
            moment=self._commit if self._reads_more else None,
        )

    def call(self, name: RelationName) -> None:
        """Follow a call, which means a function of the branch or one of the engine."""
        if isinstance(self._tree.entry(name), FunctionEntry):
            self.read(name)

    def read(self, name: RelationName) -> None:
        if name in self._entries:
            return
        entry = self._tree.entry(name)
        if entry is not None:
            self._entries[name] = entry
            self._follow(entry)
        # These tables tell of the repository, so they may differ on any two commits.
        elif name.schema == metadata_tables.SCHEMA:
            self._reads_more = True
        else:
            self._missing.add(name)

    def _follow(self, entry: Entry) -> None:
        if isinstance(entry, TableEntry):
            return
        below: View | Function
        if isinstance(entry, ViewEntry):
            below = self._objects.view(entry.view)
            query = query_of_view(below.text)
        else:
            below = self._objects.function(entry.function)
            # A function in Python reads no relation.
            if below.language != "sql":
                return
            query = query_of_body(below.text)
        self._reads_more = self._reads_more or _reads_more(query)
        for text in below.reads:
            self.read(RelationName.of(text))
        for text in below.calls:
            self.call(RelationName.of(text))


def _reads_more(query: Query) -> bool:
    # What these give is not settled by the tree, so no other commit may share the answer.
    return bool(query.files or query.diffs or any(read.at is not None for read in query.reads))
