"""`dbt-vcs blame`: the commit that last changed a row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

import pyarrow as pa
import pyarrow.compute as pc

from dbt.adapters.vcs.commands.layout import Block, Grid, Span, Style, age, entry, short
from dbt.adapters.vcs.commands.options import Pair
from dbt.adapters.vcs.commands.revisions import parse_relation
from dbt.adapters.vcs.commands.session import CommandSession
from dbt.adapters.vcs.commands.verb import Option, verb
from dbt.adapters.vcs.core.errors import InputError, NotFoundError
from dbt.adapters.vcs.core.ids import CommitId, SnapshotId, datetime_of
from dbt.adapters.vcs.core.model import RelationName, Schema, TableEntry
from dbt.adapters.vcs.core.plan.delta import delta
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.table.compare.located import signed_files
from dbt.adapters.vcs.table.equality import has_value
from dbt.adapters.vcs.table.exact_values import Given, key_value
from dbt.adapters.vcs.table.python_values import python_rows
from dbt.adapters.vcs.workspace.points import where_it_was


@dataclass(frozen=True, slots=True, kw_only=True)
class BlameReport:
    """The commit that last changed the rows of a key.

    Attributes:
        relation: The table, `schema.identifier`, with its name at that time.
        key: The requested values by column.
        how: `added`, `modified` or `deleted`.
        summary: First line of its message.
        invocation: dbt's invocation id of the run that it publishes, or None.
        node: dbt's unique id of the node that wrote the version, or None.
        version: The version of the table that it created.
        before: The row before, a value by column; None if there was none, or there are several.
        after: The row after, in the same way.
    """

    relation: str
    key: Mapping[str, str]
    how: str
    commit: CommitId
    author: str
    committed_at: datetime
    summary: str
    invocation: str | None
    node: str | None
    version: SnapshotId
    before: Mapping[str, str] | None
    after: Mapping[str, str] | None


def blame(
    repository: Repository, relation: str, key: Mapping[str, Given], revision: str
) -> BlameReport:
    """Return the commit that last changed the rows with the given column values.

    The history of the revision is followed backwards, through renames and clones; each step reads
    only what the commit changed. At a merge, the side that has the same rows is followed.

    Raises:
        NotFoundError: There is no such table, or no version of it had such rows.
        InputError: The key names no column, or a value doesn't fit the column's type.
    """
    name = parse_relation(relation)
    start = repository.resolve(revision)
    place = _Place(start, name, _version_of(repository, start, name, revision))
    if not key:
        raise InputError("Blame needs a key: --key column=value, once for each key column.")
    # By id from here on: the history may call the columns by other names.
    wanted = _key_values(repository.objects.snapshot(place.version).schema, key, name)
    while True:
        parents = _places_in_parents(repository, place)
        # The same version in a parent: no file has to be compared.
        same = next((parent for parent in parents if parent.version == place.version), None)
        if same is not None:
            place = same
            continue
        changes = [
            (parent, _changed_rows(repository, parent, place, wanted)) for parent in parents
        ]
        # At a merge, the side that already had the rows brought them.
        unchanged = next((parent for parent, change in changes if not change), None)
        if unchanged is not None:
            place = unchanged
            continue
        # Where all sides differ, the commit itself made the change, told relative to its first
        # parent. The first commit added all rows.
        change = changes[0][1] if changes else _changed_rows(repository, None, place, wanted)
        if not change:
            shown = ", ".join(f"{column}={value}" for column, value in key.items())
            raise NotFoundError(
                f"No version of {name} in the history of {revision!r} had a row with {shown}. "
                "Check the values; text is case-sensitive."
            )
        return _report(repository, place, key, change)


@dataclass(frozen=True, slots=True)
class _Place:
    commit: CommitId
    name: RelationName
    version: SnapshotId


Signed = list[tuple[int, dict[str, Any]]]
"""Rows by column name that were added (1) or removed (-1)."""


def _version_of(
    repository: Repository, commit: CommitId, name: RelationName, revision: str
) -> SnapshotId:
    entry = repository.tree(commit).entry(name)
    if not isinstance(entry, TableEntry):
        what = f"is a {entry.noun}" if entry is not None else "does not exist"
        raise NotFoundError(
            f"{name} {what} at {revision!r}; blame needs a table. "
            f"{where_it_was(repository, commit, name)}"
        )
    return entry.snapshot


def _places_in_parents(repository: Repository, place: _Place) -> list[_Place]:
    """Return the table in the parents of a commit, under another name if need be."""
    found: list[_Place] = []
    for parent in repository.objects.commit(place.commit).parents:
        tree = repository.tree(parent)
        entry = tree.entry(place.name)
        if isinstance(entry, TableEntry):
            found.append(_Place(parent, place.name, entry.snapshot))
            continue
        # A rename or a clone: the version, or the one it was made from, has another name there.
        made_from = repository.objects.snapshot(place.version).parents
        wanted = {place.version, *made_from}
        for schema in tree.schemas():
            for identifier, other in tree.relations(schema).items():
                if isinstance(other, TableEntry) and other.snapshot in wanted:
                    name = RelationName(schema, identifier)
                    found.append(_Place(parent, name, other.snapshot))
    return found


def _changed_rows(
    repository: Repository, before: _Place | None, after: _Place, wanted: Mapping[str, pa.Scalar]
) -> Signed:
    """Return the rows of a key that were added or removed, without those that cancel out."""
    objects = repository.objects
    old = objects.snapshot(before.version) if before else None
    new = objects.snapshot(after.version)
    keys = [field for id in wanted if (field := new.schema.by_id(id)) is not None]
    if len(keys) < len(wanted):
        # The column was added later: no row of this version has a value in it.
        return []
    change = delta(old, new, objects.segments)
    if change.is_empty:
        return []
    names = new.schema.names_by_id
    found: Signed = []
    for rows in signed_files(repository.blobs, change):
        read = rows.read(keys)
        hit = pa.repeat(pa.scalar(True), read.num_rows)
        for field in keys:
            hit = pc.and_(hit, has_value(read.column(field.id), wanted[field.id]))
        mask = hit.to_numpy(zero_copy_only=False)
        # Whole rows are read only where the key is met.
        if mask.any():
            chosen = rows.located.take(mask).read(rows.files, new.schema.fields)
            named = chosen.rename_columns([names[id] for id in chosen.column_names])
            found += zip(rows.sign[mask].tolist(), python_rows(named), strict=True)
    # A rewritten file has the same rows on both sides, which cancel out.
    return _net_rows(found)


def _net_rows(rows: Signed) -> Signed:
    counts: dict[str, int] = {}
    by_value: dict[str, dict[str, Any]] = {}
    for sign, row in rows:
        # As text, since nested values have no hash; -0.0 as 0.0, which it equals.
        value = repr([item + 0.0 if isinstance(item, float) else item for item in row.values()])
        counts[value] = counts.get(value, 0) + sign
        by_value[value] = row
    return [(count, by_value[value]) for value, count in counts.items() if count]


def _key_values(
    schema: Schema, key: Mapping[str, Given], name: RelationName
) -> dict[str, pa.Scalar]:
    """Return the values of a key by field id, which survives a column's renaming."""
    fields = [(schema.field(column), text) for column, text in key.items()]
    return {field.id: key_value(name, field.name, field.type, text) for field, text in fields}


def _report(
    repository: Repository, place: _Place, key: Mapping[str, Given], change: Signed
) -> BlameReport:
    commit = repository.objects.commit(place.commit)
    came = [row for sign, row in change if sign > 0]
    went = [row for sign, row in change if sign < 0]
    return BlameReport(
        relation=str(place.name),
        key={column: str(value) for column, value in key.items()},
        how="modified" if came and went else "added" if came else "deleted",
        commit=place.commit,
        author=commit.author,
        committed_at=datetime_of(commit.committed_at),
        summary=commit.summary,
        invocation=commit.run.invocation if commit.run else None,
        node=repository.objects.snapshot(place.version).origin.node,
        version=place.version,
        before=_only_row(went),
        after=_only_row(came),
    )


def _only_row(rows: list[dict[str, Any]]) -> Mapping[str, str] | None:
    if len(rows) != 1:
        return None
    return {name: "NULL" if value is None else str(value) for name, value in rows[0].items()}


def blame_text(report: BlameReport, now: datetime) -> Iterator[Block]:
    """Yield the commit that last changed a row."""
    key = ", ".join(f"{column}={value}" for column, value in report.key.items())
    yield entry(
        short(report.commit),
        f" {report.how} {key} of ",
        Span(report.relation, "name"),
        f": {report.summary}",
        Span(f"  {report.author}, {age(report.committed_at, now)}", "faint"),
        gives=3,
    )
    if report.node or report.invocation:
        yield entry(f"  by {report.node or 'a statement'} of run {report.invocation or '-'}")
    if report.before is not None or report.after is not None:
        yield _blamed_rows(report)


def _blamed_rows(report: BlameReport) -> Grid:
    """Return the row before (-) and after (+); the key and the changed values come first."""
    sides: tuple[tuple[str, Mapping[str, str] | None, Style], ...] = (
        ("-", report.before, "bad"),
        ("+", report.after, "good"),
    )
    there = [(sign, row, style) for sign, row, style in sides if row is not None]
    heads = tuple(dict.fromkeys(name for _, row, _ in there for name in row))
    changed = {name for name in heads if len({row.get(name) for _, row, _ in there}) > 1}
    known = {name.lower(): name for name in heads}
    return Grid(
        heads=("", *heads),
        rows=(
            (
                Span(sign, style),
                *(Span(row.get(name, ""), style, name in changed) for name in heads),
            )
            for sign, row, style in there
        ),
        first=("", *(known.get(name.lower(), name) for name in report.key)),
    )


@verb(pages=True)
def blame_command(
    session: CommandSession,
    relation: str,
    *,
    key: Annotated[
        tuple[tuple[str, Any], ...],
        Option("The row.", "-k", type=Pair("COLUMN=VALUE", is_exact=True)),
    ],
    at: Annotated[str | None, Option("The revision to start from.", metavar="REVISION")] = None,
) -> None:
    """Show which commit last changed a row.

    The row is the one in the table RELATION with the values of --key. --at defaults to the branch
    in the dbt profile, else the default branch.
    """
    report = blame(session.repository, relation, dict(key), at or session.shown)
    session.show(report, blame_text(report, session.now))
