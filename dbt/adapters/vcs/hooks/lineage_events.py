"""OpenLineage: runs and merges, and the versions of datasets that they read and wrote.

| here                    | in OpenLineage                                                        |
|-------------------------|-----------------------------------------------------------------------|
| a dbt run               | a run of the job `dbt-build-shop`; its id is dbt's invocation         |
| a node that it built    | a run of the job `main.analytics.shop.orders`, a child of the former  |
| a merge into `main`     | a run of the job `main.merge`, `main.promote`, ...                    |
| a relation of a branch  | the dataset `main.analytics.orders`; its namespace is the repository  |
| a version               | the facet `version`                                                   |

As OpenLineage's own integration with dbt does it, START is sent with the end, in one go, with the
times at which things happened. Names, types and versions are told, no SQL and no message.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit
from uuid import NAMESPACE_URL, UUID, uuid4, uuid5

from dbt.adapters.vcs.__version__ import version
from dbt.adapters.vcs.core.errors import VcsError
from dbt.adapters.vcs.core.ids import CommitId, Micros, datetime_of
from dbt.adapters.vcs.core.model import (
    Absent,
    Entry,
    Input,
    NodeRun,
    RelationName,
    Run,
    TableEntry,
    ViewEntry,
)
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.hooks.branch_event import (
    BranchMove,
    MergeStop,
    Occurrence,
    RunFailure,
    reason_of,
)
from dbt.adapters.vcs.workspace.run_branch import FAILED

INSTALL: Final = (
    "openlineage: true in vcs.yml needs a package that is not installed. Install it: "
    "pip install 'dbt-vcs[openlineage]'"
)

SECONDS: Final = 30.0
"""How long all events of a run or a merge may take."""

# The project has no address: any URI that says whose events these are.
_PRODUCER: Final = f"urn:dbt-vcs:{version}"
# As that of OpenLineage's integration with dbt.
_NAMESPACE: Final = "dbt"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Dataset:
    """One version of a relation; None for files without one, and for what was dropped."""

    namespace: str
    name: str
    version: str | None = None
    columns: tuple[tuple[str, str], ...] = ()
    is_dropped: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _JobRun:
    """One run of a job, of which two events tell."""

    id: str
    job: str
    kind: str
    started_at: Micros
    ended_at: Micros
    inputs: tuple[_Dataset, ...] = ()
    outputs: tuple[_Dataset, ...] = ()
    error: str | None = None
    parent: tuple[str, str] | None = None
    integration: str = "DBT"


def tell_openlineage(item: Occurrence, warn: Callable[[str], object]) -> None:
    """Send what happened to where the client's own settings say; what fails is a warning."""
    try:
        from openlineage import client
    except ImportError:
        warn(INSTALL)
        return
    what = f"OpenLineage was not told of {item.type} of {item.branch}"
    try:
        runs = tuple(_runs(item))
    # The branch has moved, so nothing that goes wrong here may look as if it had not.
    except Exception as error:
        why = str(error) if isinstance(error, VcsError) else f"{type(error).__name__}: {error}"
        warn(f"{what}: {why}")
        return
    failed: list[str] = []

    def send() -> None:
        try:
            sender = client.OpenLineageClient()
            for run in runs:
                for event in _events(run):
                    sender.emit(event)
            sender.close(SECONDS)
        # In a thread, so whatever it is would be lost. Transports raise errors of their own.
        except Exception as error:
            failed.append(reason_of(error))

    # What a transport's settings allow may be long, and nobody should wait for so long.
    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    thread.join(SECONDS)
    if thread.is_alive():
        failed.append(f"it took longer than {SECONDS:g} seconds")
    if failed:
        warn(
            f"{what}: {failed[0]}. Nothing is undone, and it is not sent again. See the settings "
            "of its client: OPENLINEAGE_URL, openlineage.yml"
        )


def _runs(item: Occurrence) -> Iterator[_JobRun]:
    if isinstance(item, RunFailure):
        started, now = item.run.started_at, item.repository.clock()
        record = Run(
            invocation=item.run.invocation,
            command=item.run.command,
            started_at=started,
            nodes=item.nodes,
        )
        # What it built is on no branch that anybody reads, so only what failed is told.
        yield from _dbt_runs(item, record, None, now, error=f"the run {item.reason}")
    elif isinstance(item, MergeStop):
        now = item.repository.clock()
        yield _merge_run(item, now, error="it stopped: conflicts, or it was refused")
    else:
        commit = item.repository.objects.commit(item.after)
        if item.type == "publish" and commit.run is not None:
            yield from _dbt_runs(item, commit.run, item.after, commit.committed_at)
        else:
            yield _merge_run(
                item,
                commit.committed_at,
                inputs=tuple(_merged(item)),
                outputs=tuple(_changed(item)),
            )


def _merge_run(item: BranchMove | MergeStop, at: Micros, **more: Any) -> _JobRun:
    return _JobRun(
        id=str(uuid4()),
        job=f"{item.branch}.{item.action}",
        kind="MERGE",
        integration="DBT_VCS",
        started_at=at,
        ended_at=at,
        **more,
    )


def _dbt_runs(
    item: Occurrence,
    record: Run,
    after: CommitId | None,
    ended_at: Micros,
    error: str | None = None,
) -> Iterator[_JobRun]:
    """Yield a dbt run and its nodes: those that failed, and with a commit those that it shows."""
    nodes = [node for node in record.nodes if node.id.startswith(_KINDS) and node.relation]
    failed = [node.id for node in record.nodes if node.status in FAILED]
    project = next((f"-{node.id.split('.')[1]}" for node in record.nodes), "")
    id, job = _run_id(record.invocation), f"dbt-{record.command}{project}"
    times = (record.started_at, max(ended_at, record.started_at))
    for node in nodes:
        is_failed = node.status in FAILED
        if is_failed or (after is not None and node.status == "success"):
            yield _node_run(item, node, None if is_failed else after, (id, job), times)
    if error is None and failed:
        error = f"{len(failed)} nodes failed, the first is {failed[0]}"
    yield _JobRun(
        id=id,
        job=job,
        kind="JOB",
        started_at=times[0],
        ended_at=times[1],
        outputs=tuple(_dropped(item)) if isinstance(item, BranchMove) else (),
        error=error,
    )


_KINDS: Final = ("model.", "seed.", "snapshot.")


def _node_run(
    item: Occurrence,
    node: NodeRun,
    after: CommitId | None,
    parent: tuple[str, str],
    times: tuple[Micros, Micros],
) -> _JobRun:
    assert node.relation is not None
    kind, project, name = node.id.split(".", 2)
    relation = RelationName.of(node.relation)
    repository, branch = item.repository, item.branch
    entry = None if after is None else repository.tree(after).entry(relation)
    ended = times[1]
    if isinstance(entry, TableEntry):
        # A version that was taken may be older than the run.
        made = repository.objects.snapshot(entry.snapshot).created_at
        ended = min(max(made, times[0]), times[1])
    began = max(times[0], Micros(ended - round(node.seconds * 1_000_000)))
    return _JobRun(
        id=str(uuid5(NAMESPACE_URL, f"{parent[0]}/{branch}/{node.id}")),
        job=f"{branch}.{relation.schema}.{project}.{name}",
        kind=kind.upper(),
        started_at=began,
        ended_at=ended,
        inputs=tuple(_inputs(repository, branch, after, entry)),
        outputs=() if entry is None else tuple(_outputs(repository, branch, relation, entry)),
        error=f"{node.id} ended with {node.status}" if node.status in FAILED else None,
        parent=parent,
    )


def _run_id(invocation: str) -> str:
    """Return dbt's invocation id, or what stands for one that is no UUID."""
    try:
        return str(UUID(invocation))
    except ValueError:
        return str(uuid5(NAMESPACE_URL, invocation))


def _inputs(
    repository: Repository, branch: str, after: CommitId | None, entry: Entry | None
) -> Iterator[_Dataset]:
    """Yield what a version was made from; for a view, what it reads now."""
    if isinstance(entry, TableEntry):
        for read in repository.objects.snapshot(entry.snapshot).origin.inputs:
            if read.function is None:
                yield _input(repository, branch, read)
    elif isinstance(entry, ViewEntry) and after is not None:
        tree = repository.tree(after)
        for name in repository.objects.view(entry.view).reads:
            found = tree.entry(RelationName.of(name))
            yield _dataset(repository, branch, name, None if found is None else found.version)


def _input(repository: Repository, branch: str, read: Input) -> _Dataset:
    if read.external is None:
        return _dataset(repository, branch, read.relation, read.version)
    parts = urlsplit(read.external)
    namespace = f"{parts.scheme}://{parts.netloc}" if parts.netloc else parts.scheme or "file"
    return _Dataset(namespace=namespace, name=parts.path.strip("/") or read.relation)


def _outputs(
    repository: Repository, branch: str, relation: RelationName, entry: Entry
) -> Iterator[_Dataset]:
    """Yield a relation with its columns; nothing for a function."""
    objects = repository.objects
    if isinstance(entry, TableEntry):
        fields = objects.snapshot(entry.snapshot).schema.fields
        columns = tuple((field.name, field.type) for field in fields)
    elif isinstance(entry, ViewEntry):
        shown = objects.view(entry.view).columns
        columns = tuple((column.name, column.type) for column in shown)
    else:
        return
    yield _dataset(repository, branch, str(relation), entry.version, columns)


def _changed(item: BranchMove) -> Iterator[_Dataset]:
    for change in item.repository.diff(item.before, item.after).relations:
        if change.new is not Absent:
            yield from _outputs(item.repository, item.branch, change.name, change.new)
    yield from _dropped(item)


def _dropped(item: BranchMove) -> Iterator[_Dataset]:
    for change in item.repository.diff(item.before, item.after).relations:
        if change.new is Absent:
            name = f"{item.branch}.{change.name}"
            yield _Dataset(namespace=_location(item.repository), name=name, is_dropped=True)


def _merged(item: BranchMove) -> Iterator[_Dataset]:
    """Yield the versions of the merged branch that were taken, or merged."""
    repository = item.repository
    if repository.find_branch(item.source) is None or item.action not in ("merge", "promote"):
        return
    # A fast-forward shows the source's own commit.
    *_, source = (item.after, *repository.objects.commit(item.after).parents[1:])
    tree = repository.tree(source)
    for change in repository.diff(item.before, item.after).relations:
        entry = tree.entry(change.name)
        if isinstance(entry, TableEntry | ViewEntry):
            yield _dataset(repository, item.source, str(change.name), entry.version)


def _dataset(
    repository: Repository,
    branch: str,
    relation: str,
    version: str | None,
    columns: tuple[tuple[str, str], ...] = (),
) -> _Dataset:
    # The branch is where other engines have the catalog, so branches are datasets of their own.
    name = f"{branch}.{relation}"
    return _Dataset(namespace=_location(repository), name=name, version=version, columns=columns)


def _location(repository: Repository) -> str:
    uri = repository.uri.rstrip("/")
    return uri if "://" in uri else f"file://{uri}"


def _events(run: _JobRun) -> Sequence[Any]:
    """Return the events of a run: its start, and its end with all that is known."""
    from openlineage.client import event_v2, facet_v2

    def event(state: str, at: Micros, *, is_end: bool) -> Any:
        facets: dict[str, Any] = {
            "processing_engine": facet_v2.processing_engine_run.ProcessingEngineRunFacet(
                version=version, name="dbt-vcs", producer=_PRODUCER
            )
        }
        if run.parent is not None:
            id, job = run.parent
            facets["parent"] = facet_v2.parent_run.ParentRunFacet(
                run=facet_v2.parent_run.Run(runId=id),
                job=facet_v2.parent_run.Job(namespace=namespace, name=job),
                producer=_PRODUCER,
            )
        if is_end and run.error is not None:
            facets["errorMessage"] = facet_v2.error_message_run.ErrorMessageRunFacet(
                message=run.error, programmingLanguage="SQL", producer=_PRODUCER
            )
        kind = facet_v2.job_type_job.JobTypeJobFacet(
            processingType="BATCH",
            integration=run.integration,
            jobType=run.kind,
            producer=_PRODUCER,
        )
        return event_v2.RunEvent(
            eventType=getattr(event_v2.RunState, state),
            eventTime=datetime_of(at).isoformat(),
            run=event_v2.Run(runId=run.id, facets=facets),
            job=event_v2.Job(namespace=namespace, name=run.job, facets={"jobType": kind}),
            inputs=[event_v2.InputDataset(**_facts(item)) for item in run.inputs],
            outputs=[event_v2.OutputDataset(**_facts(item)) for item in run.outputs]
            if is_end
            else [],
            producer=_PRODUCER,
        )

    namespace = os.environ.get("OPENLINEAGE_NAMESPACE") or _NAMESPACE
    ended = "COMPLETE" if run.error is None else "FAIL"
    return (
        event("START", run.started_at, is_end=False),
        event(ended, run.ended_at, is_end=True),
    )


def _facts(item: _Dataset) -> dict[str, Any]:
    """Return the arguments of a dataset."""
    from openlineage.client import facet_v2

    facets: dict[str, Any] = {}
    if item.version is not None:
        facets["version"] = facet_v2.dataset_version_dataset.DatasetVersionDatasetFacet(
            datasetVersion=item.version, producer=_PRODUCER
        )
    if item.columns:
        facets["schema"] = facet_v2.schema_dataset.SchemaDatasetFacet(
            fields=[
                facet_v2.schema_dataset.SchemaDatasetFacetFields(name=name, type=type)
                for name, type in item.columns
            ],
            producer=_PRODUCER,
        )
    if item.is_dropped:
        change = facet_v2.lifecycle_state_change_dataset
        facets["lifecycleStateChange"] = change.LifecycleStateChangeDatasetFacet(
            lifecycleStateChange=change.LifecycleStateChange.DROP, producer=_PRODUCER
        )
    return {"namespace": item.namespace, "name": item.name, "facets": facets}
