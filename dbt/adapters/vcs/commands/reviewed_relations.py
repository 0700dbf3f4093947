"""The relations of a review: how each differs, why, and what it follows from."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from shlex import quote
from typing import TYPE_CHECKING, Final, NamedTuple

from dbt.adapters.vcs.changes.diffs.matched_columns import column_changes
from dbt.adapters.vcs.changes.diffs.row_facts import MASK, ColumnPatterns, RowFacts, Secrets
from dbt.adapters.vcs.commands.diff import TablePair
from dbt.adapters.vcs.commands.diff_report import ColumnDiff, RelationDiff
from dbt.adapters.vcs.commands.review_report import (
    Cause,
    GraphEdge,
    GraphNode,
    NodeState,
    RelationChange,
    RelationReview,
    ReviewedLineage,
)
from dbt.adapters.vcs.core.errors import DamagedError, EngineError, UnsupportedError
from dbt.adapters.vcs.core.ids import SnapshotId
from dbt.adapters.vcs.core.model import (
    Absent,
    Entry,
    FunctionEntry,
    RelationName,
    Snapshot,
    TableEntry,
    ViewEntry,
)
from dbt.adapters.vcs.core.model.tree import AbsentType
from dbt.adapters.vcs.core.origins.results import Results
from dbt.adapters.vcs.core.origins.staleness import MAX_BACK, inputs_of
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.tree_changes import Change, TreeReader

if TYPE_CHECKING:
    from dbt.adapters.vcs.changes.diffs.row_measures import Wishes
    from dbt.adapters.vcs.engines.local_session import LocalSession

WHOLE_ROWS: Final = 2_000_000
WHOLE_BYTES: Final = 64 * 2**20
"""Up to here the versions of a table are read as a whole, for figures of all rows."""

ALL_WHOLE_ROWS: Final = 8_000_000
"""Rows of all tables together that are read so; small tables come first."""

ALL_BYTES: Final = 2_000_000
"""Bytes of rows, as texts, that a review holds of all relations."""

BYTES: Final = 200_000
"""The same of one relation."""

LONGEST_TEXT: Final = 200_000
"""Characters of a text, at most, that is compared line by line."""


class RelationPair(NamedTuple):
    """A relation on both sides, under its name before and its name after."""

    old_name: RelationName
    name: RelationName
    old: Entry | AbsentType
    new: Entry | AbsentType


def paired(repository: Repository, changes: Iterable[Change]) -> list[RelationPair]:
    """Return the changes with removed and added tables of one lineage as one that was renamed."""
    found = list(changes)
    gone = {_table(repository, item.old): item for item in found if item.new is Absent}
    come = {_table(repository, item.new): item for item in found if item.old is Absent}
    renamed = {
        item.name: gone[table]
        for table, item in come.items()
        if table is not None and table in gone
    }
    left_out = {item.name for item in renamed.values()}
    pairs = []
    for item in found:
        if item.name in left_out:
            continue
        before = renamed.get(item.name, item)
        pairs.append(RelationPair(before.name, item.name, before.old, item.new))
    return pairs


def _table(repository: Repository, entry: Entry | AbsentType) -> str | None:
    """Return the lineage of a table; None for anything else."""
    if not isinstance(entry, TableEntry):
        return None
    try:
        return repository.objects.snapshot(entry.snapshot).table
    except DamagedError:
        return None


class _Versions(NamedTuple):
    """The versions of a table; None where there is none."""

    before: Snapshot | None
    after: Snapshot | None

    @property
    def sides(self) -> list[Snapshot]:
        """Those that there are, the newer one last."""
        return [side for side in self if side is not None]

    @property
    def node(self) -> str | None:
        """The node that made the newest one that a node made."""
        return next((node for side in reversed(self.sides) if (node := side.origin.node)), None)

    @property
    def rows(self) -> int:
        return max(side.rows for side in self.sides)


def _is_seed(node: str | None) -> bool:
    return node is not None and node.startswith("seed.")


def _read_versions(snapshot: Snapshot) -> set[tuple[str, str]]:
    return {(item.relation, item.version) for item in snapshot.origin.inputs}


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationReader:
    """Reviews relations one after the other.

    Attributes:
        session: Measures rows.
        wishes: What to measure of each.
        diff: The command that compares the two commits.
        options: What it takes to find the repository, each option after a space.
    """

    repository: Repository
    session: LocalSession
    patterns: ColumnPatterns = field(default_factory=ColumnPatterns)
    wishes: Wishes
    diff: str
    options: str = ""

    def review(self, item: RelationPair, *, whole: bool = True) -> RelationReview | None:
        """Return how a relation differs; None if it only was written again with equal rows."""
        shown = item.old if item.new is Absent else item.new
        assert shown is not Absent
        change: RelationChange = "modified"
        if item.old_name != item.name:
            change = "renamed"
        elif item.old is Absent or item.new is Absent:
            change = "added" if item.old is Absent else "removed"
        draft = RelationReview(
            name=str(item.name),
            kind=shown.noun,
            change=change,
            old_name=str(item.old_name) if change == "renamed" else None,
            command=self._command(item),
        )
        try:
            if isinstance(item.old, TableEntry) or isinstance(item.new, TableEntry):
                return self._table(item, draft, whole=whole)
            return self._text(item, draft)
        except DamagedError as error:
            # What replaces it may be what is reviewed.
            return replace(draft, is_exact=False, note=f"It can't be compared. {error}")

    def _command(self, item: RelationPair) -> str:
        name = item.old_name if item.new is Absent else item.name
        has_rows = isinstance(item.old, TableEntry) or isinstance(item.new, TableEntry)
        limit = " --limit 0" if has_rows else ""
        return f"{self.diff} {quote(str(name))}{self.options}{limit}"

    def _table(
        self, item: RelationPair, draft: RelationReview, *, whole: bool
    ) -> RelationReview | None:
        versions = _Versions(*(self._snapshot(entry) for entry in (item.old, item.new)))
        columns = [name for side in versions.sides for name in side.schema.names]
        renamed = [
            (change.before or "", change.after or "")
            for change in column_changes(*versions)
            if change.kind == "renamed"
        ]
        secrets = self.patterns.of({item.old_name, item.name}, columns, renamed)
        found, facts, note = self._measured(item, versions, secrets, whole=whole)
        if found.how == "equal" and draft.change == "modified":
            return None
        touched = found.rows_added + found.rows_removed + found.rows_modified
        draft = replace(
            draft,
            kind="seed" if _is_seed(versions.node) else "table",
            cause=self._cause(item, versions, touched),
            node=versions.node,
            rows_before=versions.before.rows if versions.before else None,
            rows_after=versions.after.rows if versions.after else None,
            added=found.rows_added,
            removed=found.rows_removed,
            modified=found.rows_modified,
            is_exact=found.is_exact,
            share=min(1.0, touched / versions.rows) if versions.rows else None,
            schema=tuple(without_secrets(found.columns, secrets)),
            settings=found.settings,
            facts=facts,
            note=note,
            hidden=tuple(sorted(secrets.hidden)),
            masked=tuple(sorted(secrets.masked)),
        )
        return self._with_sql(draft, versions)

    def _snapshot(self, entry: Entry | AbsentType) -> Snapshot | None:
        """Return the version that an entry shows; None if it is no table."""
        if not isinstance(entry, TableEntry):
            return None
        return self.repository.objects.snapshot(entry.snapshot)

    def _measured(
        self, item: RelationPair, versions: _Versions, secrets: Secrets, *, whole: bool
    ) -> tuple[RelationDiff, RowFacts, str]:
        from dbt.adapters.vcs.changes.diffs.difference import Difference
        from dbt.adapters.vcs.changes.diffs.row_measures import MEASURED, row_facts

        before, after = versions
        pair = TablePair(
            repository=self.repository,
            draft=RelationDiff(name=str(item.name), kind="table", how="changed"),
            before=before,
            after=after,
        )
        difference = Difference(repository=self.repository, before=before, after=after)
        wishes = self.wishes if whole else replace(self.wishes, whole=False, why_not=_TOO_LARGE)
        try:
            counts, facts = row_facts(difference, self.session, secrets, wishes)
            return pair.with_counts(counts), facts, ""
        except (UnsupportedError, EngineError) as error:
            note = f"Its rows were not looked at one by one. {error}"
        return pair.counted(MEASURED), RowFacts(), note

    def _cause(self, item: RelationPair, versions: _Versions, touched: int) -> Cause:
        before, after = versions
        if before is None or after is None:
            other = item.old if before is None else item.new
            # A view or function became a table, or the other way round.
            is_other = other is not Absent
            is_model = versions.node is not None and not _is_seed(versions.node)
            return "sql" if is_other or is_model else "data"
        old, new = self._made(before), self._made(after)
        if new is None or new == old or _is_seed(new.origin.node):
            return "data" if touched else "schema"
        if old is None or new.origin.sql_sha256 != old.origin.sql_sha256:
            return "sql"
        if not touched:
            return "schema"
        return "data" if _read_versions(old) == _read_versions(new) else "inputs"

    def _made(self, snapshot: Snapshot) -> Snapshot | None:
        """Return the version that a node of dbt made of which one was made since; None if none."""
        found: Snapshot | None = snapshot
        for _ in range(MAX_BACK):
            if found is None or found.origin.node is not None:
                return found
            # A merge has the rows of both; what is merged is the second.
            parents = found.parents
            try:
                found = self.repository.objects.snapshot(parents[-1]) if parents else None
            except DamagedError:
                # Versions that no branch shows may have been collected.
                return None
        return None

    def _with_sql(self, draft: RelationReview, versions: _Versions) -> RelationReview:
        """Add the difference of the SQL that made both versions, as far as records have it."""
        if draft.cause != "sql" or draft.kind == "seed":
            return draft
        texts = [self._sql(side) for side in versions]
        if any(text is None for text in texts):
            return replace(
                draft,
                text_note="The records of these versions don't hold their SQL text, only its "
                "checksum.",
            )
        return _with_text(draft, *(text or "" for text in texts))

    def _sql(self, snapshot: Snapshot | None) -> str | None:
        """Return the SQL that made a version; empty for no version, None if not recorded."""
        if snapshot is None:
            return ""
        made = self._made(snapshot)
        if made is None or made.origin.derivation is None:
            return None
        result = Results(self.repository.blobs).find(made.origin.derivation)
        return None if result is None else result.statement

    def _text(self, item: RelationPair, draft: RelationReview) -> RelationReview:
        texts, columns, comments = zip(*map(self._definition, (item.old, item.new)), strict=True)
        is_same = texts[0] == texts[1]
        draft = replace(
            draft,
            cause="schema" if is_same else "sql",
            schema=tuple(_view_columns(*columns)) if all(columns) else (),
            settings=("comment",) if comments[0] != comments[1] and is_same else (),
        )
        return _with_text(draft, *texts)

    def _definition(self, entry: Entry | AbsentType) -> tuple[str, Mapping[str, str], str | None]:
        """Return the text of a view or function, the types of its columns, and its comment."""
        objects = self.repository.objects
        if isinstance(entry, ViewEntry):
            view = objects.view(entry.view)
            return view.text, {item.name: item.type for item in view.columns}, view.comment
        if isinstance(entry, FunctionEntry):
            function = objects.function(entry.function)
            return function.text, {}, function.comment
        return "", {}, None


_TOO_LARGE: Final = (
    f"Not computed: at most {WHOLE_ROWS:,} rows and {WHOLE_BYTES // 2**20} MiB of a table, and "
    f"{ALL_WHOLE_ROWS:,} rows in all, are read as a whole."
)


def _with_text(draft: RelationReview, before: str, after: str) -> RelationReview:
    if before == after:
        return draft
    if max(len(before), len(after)) > LONGEST_TEXT:
        return replace(
            draft,
            text_note=f"The text has more than {LONGEST_TEXT:,} characters; it is not shown.",
        )
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), "before", "after", lineterm=""
    )
    return replace(draft, text_diff="\n".join(lines))


def _view_columns(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[ColumnDiff]:
    for name in before.keys() | after.keys():
        old, new = before.get(name), after.get(name)
        if old != new:
            kind = "retyped" if old and new else "dropped" if old else "added"
            yield ColumnDiff(kind=kind, column=name, before=old, after=new)


def without_secrets(columns: Iterable[ColumnDiff], secrets: Secrets) -> Iterator[ColumnDiff]:
    """Yield how columns differ, without what may hold a value that stays out."""
    for item in columns:
        name = item.column.lower()
        if name in secrets.hidden:
            continue
        if name in secrets.masked and item.kind in ("default", "comment"):
            item = replace(item, before=MASK, after=MASK)
        yield item


def whole_tables(repository: Repository, items: Sequence[RelationPair]) -> set[RelationName]:
    """Return the tables that are read as a whole: small ones, as many as the limit allows."""
    sizes = []
    for item in items:
        rows = size = 0
        for entry in (item.old, item.new):
            if isinstance(entry, TableEntry):
                try:
                    snapshot = repository.objects.snapshot(entry.snapshot)
                except DamagedError:
                    continue
                rows, size = rows + snapshot.rows, max(size, snapshot.bytes)
        # Both versions are read.
        if rows <= 2 * WHOLE_ROWS and size <= WHOLE_BYTES:
            sizes.append((rows, item.name))
    chosen: set[RelationName] = set()
    left = ALL_WHOLE_ROWS
    for rows, name in sorted(sizes):
        left -= rows
        if left < 0:
            break
        chosen.add(name)
    return chosen


def lineage_of(
    repository: Repository,
    trees: tuple[TreeReader, TreeReader],
    relations: Sequence[RelationReview],
    stale: Iterable[str],
) -> ReviewedLineage:
    """Return the graph of what changed and what follows from it.

    Args:
        trees: What is shown before, and after.
        stale: Tables that a merge makes stale.
    """
    states: dict[str, NodeState] = dict.fromkeys(stale, "affected")
    for item in relations:
        states[item.name] = "affected" if item.cause == "inputs" else "changed"
    edges: set[tuple[str, str]] = set()
    for name in sorted(states):
        sources = _read_by(repository, trees, name)
        edges.update((source, name) for source in sources)
        for source in sources:
            states.setdefault(source, "reused")
    # A view that did not change leads on to the tables that it reads.
    for name in sorted(states):
        if states[name] == "reused" and _kind_of(trees, name) == "view":
            found = _read_by(repository, trees, name)
            edges.update((source, name) for source in found if source in states)
    kinds = {item.name: item.kind for item in relations}
    return ReviewedLineage(
        nodes=tuple(
            GraphNode(name=name, kind=kinds.get(name) or _kind_of(trees, name), state=states[name])
            for name in sorted(states)
        ),
        edges=tuple(GraphEdge(source=source, target=target) for source, target in sorted(edges)),
        paths=tuple(_paths(states, edges)),
    )


def _kind_of(trees: tuple[TreeReader, TreeReader], relation: str) -> str:
    name = RelationName.of(relation)
    entry = trees[1].entry(name) or trees[0].entry(name)
    return "external" if entry is None else entry.noun


def _read_by(
    repository: Repository, trees: tuple[TreeReader, TreeReader], relation: str
) -> list[str]:
    name = RelationName.of(relation)
    entry = trees[1].entry(name) or trees[0].entry(name)
    found: set[str] = set()
    try:
        if isinstance(entry, TableEntry):
            read = inputs_of(repository, name, SnapshotId(entry.snapshot))
            found.update(item.relation for item in read)
        elif isinstance(entry, ViewEntry):
            view = repository.objects.view(entry.view)
            found.update(view.reads, view.calls)
        elif isinstance(entry, FunctionEntry):
            function = repository.objects.function(entry.function)
            found.update(function.reads, function.calls)
    except DamagedError:
        # What it was made from isn't known; its own entry in the review says that it is damaged.
        return []
    return sorted(found - {relation})


def _paths(
    states: Mapping[str, NodeState], edges: Iterable[tuple[str, str]]
) -> Iterator[tuple[str, ...]]:
    """Yield the shortest way to each affected relation from one that changed by itself."""
    readers: dict[str, list[str]] = {}
    for source, target in sorted(edges):
        readers.setdefault(source, []).append(target)
    paths: dict[str, tuple[str, ...]] = {
        name: (name,) for name in sorted(states) if states[name] == "changed"
    }
    left = list(paths)
    # Level by level, so that the first way found is a shortest one.
    while left:
        following: list[str] = []
        for name in left:
            for reader in readers.get(name, ()):
                if reader not in paths:
                    paths[reader] = (*paths[name], reader)
                    following.append(reader)
        left = following
    for name in sorted(states):
        if states[name] == "affected" and name in paths:
            yield paths[name]
