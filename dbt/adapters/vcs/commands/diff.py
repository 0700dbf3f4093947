"""`dbt-vcs diff`: how two commits differ."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

import click

from dbt.adapters.vcs.changes.diffs.matched_columns import column_changes
from dbt.adapters.vcs.changes.diffs.summaries import how_changed, summarize
from dbt.adapters.vcs.commands.diff_report import (
    ColumnDiff,
    DiffReport,
    RelationDiff,
    diff_schema_text,
    diff_summary_text,
    diff_text,
)
from dbt.adapters.vcs.commands.failure import Failure
from dbt.adapters.vcs.commands.options import NameList
from dbt.adapters.vcs.commands.output import RowSet
from dbt.adapters.vcs.commands.revisions import unpublished_lines
from dbt.adapters.vcs.commands.session import CommandSession
from dbt.adapters.vcs.commands.verb import Option, check_only, rows_limit, verb
from dbt.adapters.vcs.core.errors import (
    InputError,
    NotFoundError,
    UnsupportedError,
    VcsError,
    listed,
)
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.model import RelationName, Snapshot, TableEntry
from dbt.adapters.vcs.core.model.tree import AbsentType
from dbt.adapters.vcs.core.plan.delta import delta
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.resolver import Range, parse_range
from dbt.adapters.vcs.core.store.blobs import each
from dbt.adapters.vcs.core.tree_changes import Change
from dbt.adapters.vcs.sql.syntax.diff_call import DiffShape, table_at
from dbt.adapters.vcs.table.compare.comparison import Counts
from dbt.adapters.vcs.table.limits import LIMITS, Limits
from dbt.adapters.vcs.workspace.overlay import Overlay
from dbt.adapters.vcs.workspace.points import Point, TableText, find_points, find_version

if TYPE_CHECKING:
    from dbt.adapters.vcs.changes.diffs.difference import ComputedRows, RowTable, ShapedRows

# As many as `each` has threads, so that their shares of the limits add up to the whole.
_AT_ONCE: Final = 16


def read_diff(
    repository: Repository,
    words: Sequence[str],
    *,
    branch: str,
    columns: Sequence[str] = (),
    shape: DiffShape = "changes",
    limit: int | None = None,
    limits: Limits = LIMITS,
) -> DiffReport:
    """Compare the two sides given by words, as `read_ends` parses them; starts no engine.

    Args:
        words: Revisions and tables.
        branch: The current branch.
        columns: Compare only these columns and the key; needs a single table.
        shape: Of the rows.
        limit: Maximum number of rows of a named table; None for all, 0 for counts alone.
        limits: The most that is read of one table.

    Raises:
        NotFoundError: There is no such revision, version or relation.
        InputError: The words can't be parsed, or there is no such column.
        UnsupportedError: Columns have types that can't be compared, or not without Spark.
    """
    ends = read_ends(repository, words, branch)
    if not ends.tables and ends.table is None:
        if columns:
            raise InputError("--columns needs a table; name it: dbt-vcs diff a..b s.t")
        return _commits_report(repository, ends, limits)
    if shape == "three_way":
        # A three-way diff finds the base by itself.
        ends = ends.without_merge_base()
    points = read_points(repository, ends, branch)
    if points is None:
        return _commits_report(repository, ends, limits)
    pair = _table_pair(repository, points, tuple(columns))
    if limit == 0:
        found = pair.counted(limits)
        return DiffReport(
            before=ends.before, after=ends.after, is_equal=found.how == "equal", relations=(found,)
        )
    return _row_diff_report(ends, points, pair, shape=shape, limit=limit, limits=limits)


def _commits_report(repository: Repository, ends: Ends, limits: Limits) -> DiffReport:
    before, after = resolved(repository, ends)
    found = repository.diff(before, after)
    wanted = name_of(ends.table) if ends.table else None
    relations = [item for item in found.relations if wanted in (None, item.name)]
    # Several small tables at once, large ones one by one, so that they fit into memory together.
    memory = None if limits.memory is None else limits.memory // _AT_ONCE
    # The draft counts what fits; a large table keeps the counts of its files until its turn.
    few = Limits(limits.rows // _AT_ONCE, limits.bytes // _AT_ONCE, memory)
    drafts = each(lambda change: _relation_diff(repository, change, few), relations)
    exact = (
        item if item.is_exact else _relation_diff(repository, change, limits)
        for change, item in zip(relations, drafts, strict=True)
    )
    differing = tuple(item for item in exact if item.how != "equal")
    schemas = () if wanted else summarize(repository, found.schemas, ())
    return DiffReport(
        before=ends.before,
        after=ends.after,
        is_equal=not differing and not schemas,
        schemas=schemas,
        relations=differing,
    )


def _table_pair(
    repository: Repository, points: tuple[Point, Point], columns: tuple[str, ...]
) -> TablePair:
    old, new = points
    before, after = (
        None if point.id is None else repository.objects.snapshot(point.id) for point in points
    )
    name = str(new.relation)
    if old.relation != new.relation:
        name = f"{old.relation} -> {new.relation}"
    how = "added" if before is None else "removed" if after is None else "changed"
    draft = RelationDiff(name=name, kind="table", how=how)
    return TablePair(
        repository=repository, draft=draft, before=before, after=after, columns=columns
    )


_TABLE: Final = re.compile(r"(`[^`]+`|[^.@`\s]+)\.(`[^`]+`|[^.@`\s]+)(@.*)?", re.DOTALL)
_MERGE_BASE: Final = "..."


class Ends(NamedTuple):
    """The two sides of a comparison, as given.

    Attributes:
        before: A revision, or a table's point if `table` is None and `tables` is set.
        after: The same.
        table: The only relation to compare, or None for all.
        tables: True if the ends are points of tables, `schema.table@version`.
    """

    before: str
    after: str
    table: str | None = None
    tables: bool = False

    def without_merge_base(self) -> Ends:
        """Return the ends of `a..b` that are equal to those of `a...b`."""
        return self._replace(before=self.before.removesuffix(_MERGE_BASE))


def read_ends(repository: Repository, words: Sequence[str], branch: str) -> Ends:
    """Return the ends that the arguments of `dbt-vcs diff` mean.

    | words                  | compared                                                  |
    |------------------------|-----------------------------------------------------------|
    | none                   | the branch, since it left the default branch              |
    | `a`                    | the branch with a                                         |
    | `a..b`, `a b`          | b with a                                                  |
    | `a...b`                | b with where it left a                                    |
    | any of these, `s.t`    | the same, of one relation; a, b may be snapshots' names   |
    | `s.t@a`, `s.t@a s.u@b` | versions of tables: with the branch's, with each other    |

    Raises:
        InputError: They match none of these.
    """
    tables = [word for word in words if _is_table(repository, word)]
    revisions = [word for word in words if word not in tables]
    has_versions = any("@" in word for word in tables)
    if not revisions and (len(tables) == 2 or (len(tables) == 1 and has_versions)):
        own = tables[0].partition("@")[0]
        # One table is compared with what the branch shows under its name.
        return Ends(tables[0], (*tables, own)[1], tables=True)
    if len(revisions) > 2 or len(tables) > 1 or has_versions:
        raise InputError(
            f"Expected a..b, a...b or a b and at most one table, or two of schema.table@version; "
            f"found {' '.join(words)}."
        )
    return _ends_of_revisions(repository, revisions, branch, tables[0] if tables else None)


def _ends_of_revisions(
    repository: Repository, revisions: Sequence[str], branch: str, table: str | None
) -> Ends:
    """Return the ends for at most two revisions, by the table in `read_ends`."""
    if len(revisions) == 2:
        return Ends(revisions[0], revisions[1], table)
    if not revisions:
        return Ends(repository.default_branch + _MERGE_BASE, branch, table)
    text = revisions[0]
    # A name may contain two dots.
    ends = None if repository.is_known(text) else parse_range(text)
    if ends is None:
        return Ends(text, branch, table)
    return Ends(ends.left + (_MERGE_BASE if ends.from_merge_base else ""), ends.right, table)


def resolved(repository: Repository, ends: Ends) -> tuple[CommitId, CommitId]:
    """Return the commits of two revisions; the first may be a merge base.

    Raises:
        NotFoundError: One does not exist, or there is no merge base.
        InputError: One is not a revision.
    """
    if ends.before.endswith(_MERGE_BASE):
        left = ends.before.removesuffix(_MERGE_BASE)
        return repository.resolve_range(Range(left=left, right=ends.after, from_merge_base=True))
    return repository.resolve(ends.before), repository.resolve(ends.after)


def name_of(text: str) -> RelationName:
    """Return the relation that `schema.identifier` names.

    Raises:
        InputError: The schema is missing.
    """
    name, _ = table_at(text)
    return _qualified(name.schema, name.identifier)


def read_points(repository: Repository, ends: Ends, branch: str) -> tuple[Point, Point] | None:
    """Return the versions of the tables to compare; None for a view.

    Raises:
        NotFoundError: There is no such version, or neither end has the table.
        InputError: A text matches several versions.
    """
    if ends.tables:
        at = repository.branch(branch).head
        overlay = Overlay(repository=repository, base=at, tree=repository.tree(at), branch=branch)
        old, new = (
            TableText(_qualified(name.schema, name.identifier), version)
            for name, version in map(table_at, (ends.before, ends.after))
        )
        # No session of an engine that would have a time zone.
        return find_points(overlay, old, new, lambda: "UTC")
    assert ends.table is not None
    relation = name_of(ends.table)
    # A table's snapshots are no revisions of the graph, so a merge base takes commits.
    if ends.before.endswith(_MERGE_BASE):
        texts: Sequence[str] = resolved(repository, ends)
    else:
        texts = (ends.before, ends.after)
    before, after = (_version_point(repository, relation, text) for text in texts)
    if before is None or after is None:
        return None
    if before.id is None and after.id is None:
        where = " or at ".join(dict.fromkeys((ends.before, ends.after)))
        raise NotFoundError(
            f"There is no {relation} at {where}. {_relations_of(repository, texts)}"
        )
    return before, after


def _relations_of(repository: Repository, revisions: Sequence[str]) -> str:
    """Return a sentence that names the relations of some revisions, as far as they fit a line."""
    trees = [repository.tree(repository.resolve(text)) for text in revisions]
    names = sorted(
        {
            f"{schema}.{identifier}"
            for tree in trees
            for schema in tree.schemas()
            for identifier in tree.relations(schema)
        }
    )
    if not names:
        return "There are no relations there."
    return f"Check the spelling: there are {listed(names, 10)}."


def _version_point(repository: Repository, relation: RelationName, text: str) -> Point | None:
    """Return a version by snapshot name or revision; None for a relation without stored rows."""
    try:
        return Point(relation, find_version(repository, relation, text).snapshot)
    except NotFoundError:
        entry = repository.tree(repository.resolve(text)).entry(relation)
        # A table at this revision would have been found.
        assert not isinstance(entry, TableEntry)
    except InputError:
        entry = repository.tree(repository.resolve(text)).entry(relation)
        # Views have no versions to name, which is no mistake here; any other text is.
        if entry is None or isinstance(entry, TableEntry):
            raise
    return Point(relation, None) if entry is None else None


def _is_table(repository: Repository, word: str) -> bool:
    # `a.b..c.d` is a range of two revisions.
    if not _TABLE.fullmatch(word) or ".." in word.partition("@")[0]:
        return False
    try:
        # A revision can look like a table: a branch may be called `release.2`.
        repository.resolve(word)
    except InputError:
        return True
    return False


def _qualified(schema: str | None, identifier: str) -> RelationName:
    if schema is None:
        raise InputError(f"Expected schema.table, found {identifier!r}. Name the schema, too.")
    return RelationName(schema.lower(), identifier.lower())


_SETTINGS: Final = ("primary_key", "partition_by", "cluster_by", "comment", "properties")


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePair:
    """Two versions of tables to be compared.

    Attributes:
        draft: The report, without what the comparison adds.
        before: The first version; None is a table without rows.
        after: The second version; the same.
        columns: Names of the only columns to compare besides the key; empty for all.
    """

    repository: Repository
    draft: RelationDiff
    before: Snapshot | None
    after: Snapshot | None
    columns: tuple[str, ...] = ()

    def counted(self, limits: Limits) -> RelationDiff:
        """Return the report with counts: those of the files where rows are too many to read."""
        change = delta(self.before, self.after, self.repository.objects.segments)
        in_files = Counts(change.rows_added, change.rows_removed, 0)
        # Rows only came or only went: the manifests count them, and no file is read.
        if not self.columns and not (in_files.added and in_files.removed):
            return self.with_counts(in_files)
        # Rows take pyarrow, which takes longer to load than most diffs take in all.
        from dbt.adapters.vcs.changes.diffs.difference import Difference

        difference = Difference(
            repository=self.repository, before=self.before, after=self.after, columns=self.columns
        )
        counts = difference.counts_here(limits)
        return self.with_counts(counts or in_files, is_exact=counts is not None)

    def with_counts(self, counts: Counts, *, is_exact: bool = True) -> RelationDiff:
        """Return the report with these counts, and with how columns and settings differ."""
        before, after, how = self.before, self.after, self.draft.how
        columns = self._column_diffs()
        settings: tuple[str, ...] = ()
        if before is not None and after is not None:
            # Whoever names columns asks about these only.
            if not self.columns:
                settings = tuple(
                    item for item in _SETTINGS if getattr(before, item) != getattr(after, item)
                )
            if not (any(counts) or columns or settings):
                how = "equal"
        return replace(
            self.draft,
            how=how,
            rows_added=counts.added,
            rows_removed=counts.removed,
            rows_modified=counts.modified,
            is_exact=is_exact,
            columns=columns,
            settings=settings,
        )

    def _column_diffs(self) -> tuple[ColumnDiff, ...]:
        chosen = {name.lower() for name in self.columns}
        return tuple(
            ColumnDiff(kind=kind, column=column, before=before, after=after)
            for kind, column, before, after in column_changes(self.before, self.after)
            if not chosen or column.lower() in chosen
        )


def _relation_diff(repository: Repository, change: Change, limits: Limits) -> RelationDiff:
    """Return how a relation differs; rows are read only of tables that gained and lost some."""
    name, old, new = change
    shown = old if isinstance(new, AbsentType) else new
    assert not isinstance(shown, AbsentType)
    draft = RelationDiff(name=str(name), kind=shown.noun, how=how_changed(old, new))
    before, after = (
        repository.objects.snapshot(entry.snapshot) if isinstance(entry, TableEntry) else None
        for entry in (old, new)
    )
    if before is None and after is None:
        return draft
    pair = TablePair(repository=repository, draft=draft, before=before, after=after)
    return pair.counted(limits)


def _row_diff_report(
    ends: Ends,
    points: tuple[Point, Point],
    pair: TablePair,
    *,
    shape: DiffShape,
    limit: int | None,
    limits: Limits,
) -> DiffReport:
    # Whoever asks for counts alone does not wait for what reads rows.
    from dbt.adapters.vcs.changes.diffs.difference import Difference
    from dbt.adapters.vcs.changes.diffs.three_way import ThreeWay

    difference = Difference(
        repository=pair.repository,
        before=pair.before,
        after=pair.after,
        columns=pair.columns,
        # A three-way difference has a shape of its own, and counts have none.
        shape="wide" if shape == "three_way" else shape,
    )
    shaped: ShapedRows | RowTable | ComputedRows
    # Decision 45: DuckDB computes what is too much for this process.
    try:
        if shape == "three_way":
            old, new = points
            three = ThreeWay.of(pair.repository, old.id, new.id, pair.columns)
            shaped, counts = three.rows(limits), difference.counts(limits=limits)
        elif difference.is_small(limits):
            shaped = difference.parts()
            counts = shaped.counts
        else:
            counts = difference.counts(limits=limits)
            shaped = difference.computed(counts)
        row_count = shaped.count
    except UnsupportedError as error:
        raise UnsupportedError(f"{error} {_in_sql(points)}") from error
    relation = pair.with_counts(counts)
    shown = row_count if limit is None else min(limit, row_count)
    return DiffReport(
        before=ends.before,
        after=ends.after,
        # A three-way diff has rows where both sides changed in the same way.
        is_equal=relation.how == "equal" and not row_count,
        relations=(relation,),
        heads=tuple(shaped.schema.names),
        key=tuple(field.name for field in difference.comparison.key),
        rows=RowSet(shaped.schema, shown, lambda: shaped.parts(limit)),
        row_count=row_count,
    )


def _in_sql(points: tuple[Point, Point]) -> str:
    old, new = (
        f"{point.relation}@{point.id[:12]}" if point.id else str(point.relation)
        for point in points
    )
    return (
        'With Spark: dbt show --inline "select * from '
        f"snapshot_diff('{old}', '{new}')\"; or show only row counts: --stat"
    )


# As for `diff` and `git diff --exit-code`.
DIFFERENT = 1


def _check_diff(*, stat: bool, summary: bool, schema: bool, **_: object) -> None:
    output = _output_of(stat=stat, summary=summary, schema=schema)
    if output is not None:
        check_only(output, "points", "columns", output.strip("-"))


def _output_of(**forms: bool) -> str | None:
    """Return the option that chooses another output than rows: the first that is given."""
    return next((f"--{form}" for form, is_meant in forms.items() if is_meant), None)


@verb(pages=True, check=_check_diff)
def diff_command(
    session: CommandSession,
    points: Annotated[tuple[str, ...], Option(metavar="[A..B | A...B | A B] [SCHEMA.TABLE]")] = (),
    *,
    stat: Annotated[bool, "Show only row counts."] = False,
    summary: Annotated[bool, "Show one line for everything."] = False,
    schema: Annotated[bool, "Show only differences in columns."] = False,
    columns: Annotated[
        tuple[str, ...] | None,
        Option("Compare only these columns and the key.", type=NameList(), metavar="A,B"),
    ] = None,
    shape: Annotated[DiffShape, "How to show the rows of a table."] = "changes",
    limit: Annotated[int, rows_limit()] = 50,
) -> None:
    """Show how two commits differ.

    Lists each relation that differs, with the number of rows added, removed and modified. A..B
    compares B with A; A...B compares B with the point where it forked from A. A single A is
    compared with the branch in the dbt profile; without any, that branch is compared with where it
    forked from the default branch. With a table's name, its rows are shown, and A and B can be
    snapshots of it. Versions of two tables: SCHEMA.TABLE@A SCHEMA.OTHER@B.

    Exit codes: 0 equal, 1 different, 2 an error.
    """
    output = _output_of(stat=stat, summary=summary, schema=schema)
    try:
        report = read_diff(
            session.repository,
            points,
            branch=session.shown,
            columns=columns or (),
            shape=shape,
            # --limit 0 asks for all rows; the other outputs need none.
            limit=(limit or None) if output is None else 0,
        )
    except VcsError as error:
        # Exit code 2 for every error, since 1 says that something differs.
        raise Failure(str(error)) from error
    if output is None and not report.heads:
        # --shape and --limit would do nothing, without a word.
        check_only("a diff without rows", "points", "columns")
    texts = {"--summary": diff_summary_text, "--schema": diff_schema_text}
    items = report.rows if report.heads else report.relations
    session.show(report, texts.get(output or "", diff_text)(report), items)
    if report.is_equal:
        session.warn(unpublished_lines(session.repository, *_ends_of(points), session.shown))
    if _is_different(report, output):
        raise click.exceptions.Exit(DIFFERENT)


def _ends_of(points: Sequence[str]) -> list[str]:
    """Return the names in some ranges: perhaps branches that their last run never reached."""
    return [end for point in points for end in point.replace("...", "..").split("..")]


def _is_different(report: DiffReport, output: str | None) -> bool:
    if output == "--schema":
        return any(relation.columns for relation in report.relations)
    return not report.is_equal
