"""Table commits: what clients do to tables, as commits on a branch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace as replace_fields
from itertools import pairwise
from typing import Any

import msgspec

from dbt.adapters.vcs.changes.writes.checks import PRIMARY_KEY
from dbt.adapters.vcs.core.ids import CommitId, SnapshotId
from dbt.adapters.vcs.core.model import Commit, RelationName, TableEntry
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.iceberg.adopt import AddedSnapshot, adopt
from dbt.adapters.vcs.iceberg.client_manifests import client_folder
from dbt.adapters.vcs.iceberg.serve.documents import Body, Documents
from dbt.adapters.vcs.iceberg.serve.rest_protocol import (
    RestError,
    bad_request,
    name_taken,
    no_relation,
)
from dbt.adapters.vcs.iceberg.serve.writing.branch_writer import (
    COMMENT,
    BranchWriter,
    check_free,
    relation_name,
)
from dbt.adapters.vcs.iceberg.serve.writing.commit_request import (
    CommitRequest,
    Record,
    base_version,
    check_requirements,
)
from dbt.adapters.vcs.iceberg.serve.writing.iceberg_columns import partition_names, read_columns
from dbt.adapters.vcs.iceberg.serve.writing.table_definitions import (
    UPGRADE,
    NewTable,
    check_updates,
    create,
    created_by,
    current_after,
    numbers_given,
    properties_given,
    redefine,
    staged_id,
    to_remove,
    to_store,
)
from dbt.adapters.vcs.iceberg.table_metadata import FORMAT_VERSION, MAIN, table_uuid
from dbt.adapters.vcs.workspace.overlay import Overlay


class TableCommits:
    """Carries out commits of tables."""

    def __init__(self, repository: Repository, documents: Documents) -> None:
        self._repository = repository
        self._documents = documents

    def create(self, writer: BranchWriter, new: NewTable) -> Body:
        """Create a table, and return it as it is loaded.

        Raises:
            RestError: The name is taken.
        """

        def run(overlay: Overlay) -> None:
            check_free(overlay, new.relation, TableEntry)
            create(writer, overlay, new)

        _, head = writer.change(f"create {new.relation}", run)
        return self.loaded(writer, head, new.relation)

    def stage(self, writer: BranchWriter, new: NewTable) -> dict[str, Any]:
        """Return a table that isn't there yet, as a client needs it to write files for it.

        Nothing changes: the client creates the table by a commit, with the location that it is
        given here.
        """
        overlay = writer.workspace.begin()
        check_free(overlay, new.relation, TableEntry)
        table = staged_id(self._repository, writer.branch, new.relation)
        create(writer, overlay, replace_fields(new, table=table))
        repository = self._repository
        commit = Commit(
            tree=repository.edit(overlay.tree.id, overlay.changes),
            parents=(overlay.base,),
            author=writer.author,
            committed_at=repository.clock(),
            message=f"Stage {new.relation}",
        )
        # No ref names this commit. It only lets the table be described as all others are.
        id = CommitId(repository.objects.put(commit))
        entry = overlay.entry(new.relation)
        assert isinstance(entry, TableEntry)
        made = self._documents.maker.stage(id, new.relation, entry, writer.branch)
        # The table was made with an empty version, which the client must not take for a snapshot.
        empty: dict[str, Any] = {
            "snapshots": [],
            "snapshot-log": [],
            "refs": {},
            "current-snapshot-id": None,
        }
        return {"metadata": {**made, **empty}, "config": self._documents.config}

    def commit(self, writer: BranchWriter, requests: Sequence[CommitRequest]) -> str:
        """Put changes of one or several tables on a branch as one commit; return its head.

        Raises:
            RestError: A requirement doesn't hold, or an update can't be carried out; then
                nothing was changed.
        """
        named = [(relation_name(item.namespace, item.name), item) for item in requests]
        # Requirements are checked against the branch, so a second change couldn't follow the
        # first.
        if len(dict(named)) != len(named):
            raise bad_request("A transaction may change each table once.")

        def run(overlay: Overlay) -> None:
            for relation, request in named:
                self._apply(writer, overlay, relation, request)

        return writer.change(_message(named), run)[1]

    def loaded(self, writer: BranchWriter, head: str, relation: RelationName) -> Body:
        """Return a table of a commit of the writer's branch, as an answer's body."""
        commit = CommitId(head)
        entry = self._repository.tree(commit).entry(relation)
        if not isinstance(entry, TableEntry):
            raise RestError(409, "CommitFailedException", f"{relation} was dropped meanwhile.")
        return self._body(writer, commit, relation, entry)

    def _body(
        self, writer: BranchWriter, commit: CommitId, relation: RelationName, entry: TableEntry
    ) -> Body:
        return self._documents.body(
            commit, relation, entry, branch=writer.branch, tags=writer.sees_tags
        )

    def _apply(
        self,
        writer: BranchWriter,
        overlay: Overlay,
        relation: RelationName,
        request: CommitRequest,
    ) -> None:
        metadata = self._metadata(writer, overlay, relation)
        # The answer was lost, and the client sends the commit again.
        if request.creates and metadata is not None and _is_made_by(request, metadata):
            return
        check_requirements(str(relation), request.requirements, metadata)
        check_updates(request, metadata)
        if metadata is None and not request.creates:
            raise no_relation(relation, TableEntry)
        if metadata is None:
            create(writer, overlay, created_by(self._repository, writer.branch, relation, request))
            _check_uuid(self._repository, overlay, relation, request)
        elif request.replaces:
            _replace(writer, overlay, relation, request, metadata)
        else:
            redefine(writer, overlay, relation, request, metadata)
        # Rows after columns: the files of this commit may have columns that it adds.
        folder = client_folder(overlay.require_table(relation).table, writer.branch)
        added = _added_snapshot(str(relation), request, metadata, writer.branch, folder)
        if added is not None and metadata is not None and request.of_action("add-schema"):
            # The catalog numbers columns itself (decision 20). These files have the client's
            # numbers.
            schema = current_after(request, metadata, "schema")
            added = replace_fields(added, numbers=numbers_given(overlay, relation, schema))
        if added is not None:
            adopt(writer.scope(overlay), relation, added)

    def _metadata(
        self, writer: BranchWriter, overlay: Overlay, relation: RelationName
    ) -> Record | None:
        """Return a table as clients see it at the commit that an overlay began with."""
        entry = overlay.before(relation)
        if entry is None:
            return None
        if not isinstance(entry, TableEntry):
            raise name_taken(relation, entry, TableEntry)
        body = self._body(writer, overlay.base, relation, entry)
        # Requirements name numbers of schemas and specs, which exist in this document only.
        found: dict[str, Any] = msgspec.json.decode(body.data)["metadata"]
        return found


def _is_made_by(request: CommitRequest, metadata: Record) -> bool:
    """Return whether a commit created this very table before: its answer was lost."""
    given = [item.get("uuid") for item in request.of_action("assign-uuid")]
    return given == [metadata["table-uuid"]]


def _check_uuid(
    repository: Repository, overlay: Overlay, relation: RelationName, request: CommitRequest
) -> None:
    """Check that a new table has the identity that its commit wants: the one handed out."""
    made = table_uuid(repository, relation, overlay.require_table(relation))
    if any(item.get("uuid") != made for item in request.of_action("assign-uuid")):
        raise bad_request(
            f"The uuid of {relation} is none that the catalog handed out with its location. Ask "
            "for the table with stage-create first, and create it with what is answered."
        )


def _message(named: Sequence[tuple[RelationName, CommitRequest]]) -> str:
    if len(named) == 1:
        relation, request = named[0]
        return f"{_verb(request)} {relation}"
    return f"changes of {', '.join(str(relation) for relation, _ in named)}"


def _verb(request: CommitRequest) -> str:
    added = request.of_action("add-snapshot")
    if request.replaces:
        return "replace"
    if added:
        verb = _operation_of(added[-1])
        return {"append": "append to", "delete": "delete from"}.get(verb, f"{verb} of")
    return "create" if request.creates else "alter"


def _replace(
    writer: BranchWriter,
    overlay: Overlay,
    relation: RelationName,
    request: CommitRequest,
    metadata: Record,
) -> None:
    """Build a table again in an overlay, without rows, as `create or replace table` does.

    As in Iceberg its properties stay, and columns keep their numbers if name and type stay.

    Raises:
        RestError: A property can't be honoured, or the partitioning is none of columns.
        InputError: The table can't be as declared.
    """
    before = overlay.require_table(relation)
    columns = read_columns(current_after(request, metadata, "schema"))
    shown, version = metadata["properties"], int(metadata[FORMAT_VERSION])
    properties = {key: value for key, value in before.properties.items() if key != PRIMARY_KEY}
    if before.comment is not None:
        properties[COMMENT] = before.comment
    for item in request.of_action("set-properties", UPGRADE):
        properties |= to_store(properties_given(item), shown, version)
    for item in request.of_action("remove-properties"):
        for key in to_remove(item):
            properties.pop(key, None)
    new = NewTable(
        relation=relation,
        columns=columns,
        partition_by=partition_names(current_after(request, metadata, "spec"), columns),
        properties=properties,
        replaces=True,
    )
    create(writer, overlay, new)


def _added_snapshot(
    table: str, request: CommitRequest, metadata: Record | None, branch: str, folder: str
) -> AddedSnapshot | None:
    """Return the last of the snapshots that a commit adds, which has all their rows, or None.

    Args:
        table: The table's name, for messages.
        metadata: The table as the branch shows it; None if it isn't there.
        branch: The branch that the client writes to.
        folder: The folder where the branch's clients put files of the table.

    Raises:
        RestError: A ref is set to something else, a snapshot isn't the next one, or it is unknown
            what the client started from.
    """
    snapshots = [_snapshot(item) for item in request.of_action("add-snapshot")]
    _check_refs(request, snapshots)
    if not snapshots:
        return None
    for before, after in pairwise(snapshots):
        if after.get("parent-snapshot-id") != before.get("snapshot-id"):
            raise bad_request("Each snapshot of a commit has the one before as its parent.")
    # It has all the rows of those before.
    last = snapshots[-1].get("manifest-list")
    if not isinstance(last, str):
        raise bad_request(f"The snapshot of {table} has no manifest list.")
    if metadata is None or request.replaces:
        return AddedSnapshot(manifest_list=last, branch=branch, folder=folder, base=None)
    base = base_version(metadata, snapshots[0].get("parent-snapshot-id"))
    if base is None:
        raise RestError(
            409,
            "CommitFailedException",
            f"The snapshot of {table} doesn't follow one that the branch has. Nothing was "
            "changed; load the table again, and repeat the change.",
        )
    # Decision 23: an overwrite that found nothing might find something now.
    replaces = any(_replaces(item) for item in snapshots)
    return AddedSnapshot(
        manifest_list=last,
        branch=branch,
        folder=folder,
        base=SnapshotId(base),
        replaces=replaces,
    )


def _operation_of(item: Record) -> str:
    """Return what a client calls the change that an update of a snapshot makes."""
    summary = _snapshot(item).get("summary")
    return str(summary.get("operation", "change")) if isinstance(summary, Mapping) else "change"


def _replaces(snapshot: Mapping[str, Any]) -> bool:
    summary = snapshot.get("summary")
    said = summary if isinstance(summary, Mapping) else {}
    return said.get("operation") == "overwrite" or said.get("replace-partitions") == "true"


def _snapshot(item: Record) -> Mapping[str, Any]:
    found = item.get("snapshot")
    if not isinstance(found, Mapping):
        raise bad_request(f"Expected an object as snapshot, found {found!r}.")
    return found


def _check_refs(request: CommitRequest, snapshots: list[Mapping[str, Any]]) -> None:
    ids = [item.get("snapshot-id") for item in snapshots]
    refs = request.of_action("set-snapshot-ref")
    if any(item.get("ref-name") != MAIN or item.get("snapshot-id") not in ids for item in refs):
        raise bad_request(
            "Which version of a table a branch shows is the repository's. To go back to another "
            "one: dbt-vcs restore RELATION --to REVISION. Branches and tags are made with "
            "dbt-vcs branch and dbt-vcs tag."
        )
    if snapshots and (not refs or refs[-1].get("snapshot-id") != ids[-1]):
        raise bad_request(
            "A snapshot that `main` of the table doesn't show can't be kept. Write to a branch "
            "of the repository: dbt-vcs branch create NAME."
        )
