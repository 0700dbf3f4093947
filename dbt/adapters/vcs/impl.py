"""The adapter: passes dbt's calls on to the environment, in dbt's own terms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.context import SpawnContext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dbt.adapters.base import available
from dbt.adapters.base.impl import ConstraintSupport
from dbt.adapters.base.relation import BaseRelation, InformationSchema
from dbt.adapters.capability import Capability, CapabilityDict, CapabilitySupport, Support
from dbt.adapters.contracts.connection import AdapterResponse
from dbt.adapters.contracts.relation import RelationType
from dbt.adapters.spark.impl import SparkAdapter, SparkConfig
from dbt_common.contracts.constraints import ConstraintType
from dbt_common.events.base_types import EventLevel
from dbt_common.events.event_manager_client import get_event_manager
from dbt_common.events.functions import fire_event
from dbt_common.events.types import Note
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.vcs.connections import VcsConnectionManager
from dbt.adapters.vcs.core.errors import InputError, VcsError
from dbt.adapters.vcs.core.ids import datetime_of
from dbt.adapters.vcs.core.model import Entry, Origin, RelationName, TableEntry
from dbt.adapters.vcs.project import dbt_catalog
from dbt.adapters.vcs.project.dbt_catalog import loaded_at
from dbt.adapters.vcs.project.environment import Environment
from dbt.adapters.vcs.project.events import RunListener
from dbt.adapters.vcs.project.operations import Caller, prepare_operation
from dbt.adapters.vcs.project.python_models import relations_of, run_python_model
from dbt.adapters.vcs.project.reuse_modes import is_declared_repeatable
from dbt.adapters.vcs.project.seeds import allow_long_values, check_seed_file, load_seed
from dbt.adapters.vcs.relation import VcsColumn, VcsRelation
from dbt.adapters.vcs.sql.syntax.clauses import Check, check_properties
from dbt.adapters.vcs.sql.syntax.names import Name
from dbt.adapters.vcs.sql.syntax.parser import split
from dbt.adapters.vcs.table.quoting import quoted
from dbt.adapters.vcs.workspace.increments import increment_of
from dbt.adapters.vcs.workspace.overlay import Overlay

if TYPE_CHECKING:
    import agate


@dataclass
class VcsConfig(SparkConfig):
    """Configs of models, seeds and snapshots that the adapter knows.

    Attributes:
        partition_by: Columns that the table is partitioned by, with one folder per value.
        cluster_by: Columns that rows are sorted by within a write.
        primary_key: Columns of the primary key. Default: those of an enforced contract's
            constraint, or the `unique_key` of an incremental model.
        enforce_primary_key: `false` allows rows with a NULL or duplicate key.
        on_conflict: What a merge does if both sides changed a row: `fail`, `skip`, `accept`,
            `cell`, `cell_skip` or `cell_accept`. Default: the setting in `vcs.yml`, or `fail`.
        write_mode: How a changed row is stored: `merge_on_read` keeps its file and writes a
            tombstone, `copy_on_write` rewrites the file, `auto` decides by the file's size and
            by how many rows it has lost. Default: `auto`.
        rebuild: `delta` stores only what differs from the previous version when a table is
            rebuilt. Default: `full`.
        auto_optimize: Whether a run compacts the table when necessary. Default: the profile's
            setting.
        reuse: Whether a result that was computed before is taken instead of computing it: `true`,
            if it depends on nothing but what the model reads; `always`, in any case; `false`, not
            at all. Default: `true`.
        partitions: Values, as SQL, of the partitions that `insert_overwrite` replaces, whether
            there are new rows in them or not. Default: those with new rows.
        merge_update_columns: Columns that `merge` updates in matching rows. Default: all except
            those in `merge_exclude_columns`.
        file_format: `parquet`, or empty. Any other is refused or ignored, depending on
            `storage_configs` in the profile.
        location_root: Refused or ignored, like `file_format`: tables are kept in the repository.
        clustered_by: Refused or ignored, with `buckets`: use `cluster_by` or `partition_by`.
        buckets: Refused or ignored, with `clustered_by`.
        options: Options of Spark's Parquet writer.
    """

    primary_key: list[str] | str | None = None
    enforce_primary_key: bool | None = None
    cluster_by: list[str] | str | None = None
    auto_optimize: bool | None = None
    on_conflict: str | None = None
    write_mode: str | None = None
    rebuild: str | None = None
    reuse: bool | str | None = None
    partitions: list[Any] | None = None
    # dbt-spark declares a text here, and dbt documents a list.
    merge_update_columns: list[str] | str | None = None  # type: ignore[assignment]


class VcsAdapter(SparkAdapter):
    """dbt-spark on versioned tables."""

    Relation = VcsRelation
    Column = VcsColumn
    ConnectionManager = VcsConnectionManager
    AdapterSpecificConfigs = VcsConfig
    # dbt-spark enforces none of them. Here each write checks those that are marked so.
    CONSTRAINT_SUPPORT = {  # noqa: RUF012
        ConstraintType.check: ConstraintSupport.ENFORCED,
        ConstraintType.not_null: ConstraintSupport.ENFORCED,
        ConstraintType.unique: ConstraintSupport.NOT_SUPPORTED,
        ConstraintType.primary_key: ConstraintSupport.ENFORCED,
        ConstraintType.foreign_key: ConstraintSupport.NOT_SUPPORTED,
    }
    _capabilities = CapabilityDict(
        {
            capability: CapabilitySupport(support=Support.Full)
            for capability in (
                Capability.GetCatalogForSingleRelation,
                Capability.SchemaMetadataByRelations,
                Capability.TableLastModifiedMetadata,
                # Else dbt says itself that v2 of catalogs.yml is not supported, and to use v1.
                *(item for item in Capability if item.name == "CatalogsV2"),
            )
        }
    )

    connections: VcsConnectionManager

    def __init__(self, config: Any, mp_context: SpawnContext) -> None:
        super().__init__(config, mp_context)
        self.environment = Environment(config, manifest=self.get_macro_resolver, say=_say)
        self.connections.environment = self.environment
        listener = RunListener(
            lambda: self.environment.life,
            self.environment.close,
            self.environment.before_nodes,
            self.environment.typed,
        )
        # Not by hooks of the adapter's own project, which count as results, and which neither
        # Ctrl-C nor `clone` runs.
        get_event_manager().add_callback(listener)
        allow_long_values()

    @contextmanager
    def connection_named(
        self, name: str, query_header_context: Any = None, should_release_connection: bool = True
    ) -> Iterator[None]:
        """Name this thread's connection; a run-operation is published when it succeeds."""
        with super().connection_named(name, query_header_context, should_release_connection):
            # dbt fires no event when a run-operation ends, only this connection tells.
            if not (name.startswith("macro_") and self.environment.invocation.is_operation):
                yield
                return
            try:
                yield
            # Ctrl-C, too: an operation that was stopped must not be published.
            except BaseException:
                self._end_operation(success=False)
                raise
            self._end_operation(success=True)

    def cleanup_connections(self) -> None:
        """Close every connection, and release the engine if no command will."""
        super().cleanup_connections()
        # dbt closes connections before it says how a run ended, and publishing may need the
        # engine.
        if self.environment.invocation.is_direct:
            self.environment.close()

    @classmethod
    def quote(cls, identifier: str | None) -> str:
        """Return a name in backquotes; dbt calls this on the class when it renders constraints.

        The database, which has no name, is `None` here as in dbt-spark.
        """
        return quoted(str(identifier))

    def add_catalog_integration(self, catalog_integration: Any) -> Any:
        """Refuse a catalog of dbt's catalogs.yml.

        Raises:
            DbtRuntimeError: Always.
        """
        raise DbtRuntimeError(
            f"catalogs.yml names the catalog {catalog_integration.name!r}, but a target of type "
            "vcs builds in the repository of its profile, and in no other catalog. Remove "
            "catalogs.yml. To register what is published in an Iceberg catalog, set export in "
            "vcs.yml (docs/configuration.md)."
        )

    def bridge_v2_catalog(self, catalog: Any) -> Any:
        """Refuse a catalog of catalogs.yml in its second version, as of the first.

        Raises:
            DbtRuntimeError: Always.
        """
        return self.add_catalog_integration(catalog)

    def valid_incremental_strategies(self) -> list[str]:
        """Return dbt's own strategies: all of them work on every table."""
        return ["append", "merge", "delete+insert", "insert_overwrite", "microbatch"]

    def list_schemas(self, database: str | None) -> list[str]:
        """Return the names of the branch's schemas."""
        with self._reading("schemas") as overlay:
            return overlay.schema_names()

    @available.parse(lambda *a, **k: False)
    def check_schema_exists(self, database: str | None, schema: str | None) -> bool:
        """Return whether the branch has a schema; by default the session's."""
        with self._reading(f"schema {schema}") as overlay:
            return overlay.has_schema((schema or self._schema).lower())

    @available.parse(lambda *a, **k: False)
    def vcs_is_table(self, relation: BaseRelation) -> bool:
        """Return whether a relation is a table of the branch, not a view or an external source."""
        with self._reading(f"kind of {relation}") as overlay:
            is_table = isinstance(overlay.entry(self._name_of(relation)), TableEntry)
            return is_table and self._temporary(relation) is None

    def list_relations_without_caching(self, schema_relation: BaseRelation) -> list[BaseRelation]:
        """Return the relations of a schema, read only from the branch's tree."""
        schema = schema_relation.schema or self._schema
        with self._reading(f"relations of {schema}") as overlay:
            entries = overlay.entries(schema.lower())
        return [
            self._relation(schema, identifier, entry, schema_relation.quote_policy)
            for identifier, entry in entries.items()
        ]

    def get_relation(
        self, database: str | None, schema: str | None, identifier: str
    ) -> BaseRelation | None:
        """Return a relation, None if it doesn't exist: one lookup in a schema of any size.

        Without a schema, the session's is used.
        """
        schema = schema or self._schema
        # Names are kept in lower case, as Spark compares them.
        name = RelationName(schema.lower(), (identifier or "").lower())
        with self._reading(f"relation {name}") as overlay:
            entry = overlay.entry(name)
        if entry is None:
            return None
        return self._relation(schema, name.identifier, entry, self.config.quoting)

    @available.parse_none
    def drop_relation(self, relation: BaseRelation) -> None:
        """Drop a relation, by the macro of that name if there is anything to drop.

        dbt-spark drops what a table may replace, and to prepare the macro takes dbt longer than
        a lookup here. A relation whose name has no schema may be a temporary view.
        """
        if relation.type is not None and not _is_bare(relation):
            name = self._name_of(relation)
            with self._reading(f"relation {name}") as overlay:
                is_known = overlay.entry(name) is not None
            if not (is_known or name in self.environment.externals()):
                self.cache_dropped(relation)
                return
        super().drop_relation(relation)  # type: ignore[no-untyped-call]

    @available.parse(lambda *a, **k: {})
    def vcs_check_properties(self, model: Mapping[str, Any]) -> dict[str, str]:
        """Return the table properties for the check constraints of a model's contract."""
        declared = [(name, column["constraints"]) for name, column in model["columns"].items()]
        declared.append((model["alias"], model["constraints"]))
        with self.connections.exception_handler(f"constraints of {model['name']}"):
            return check_properties(
                (subject, Check(name=item.get("name"), expression=item.get("expression") or ""))
                for subject, constraints in declared
                for item in constraints
                if item["type"] == ConstraintType.check
            )

    @available.parse_none
    def vcs_check_query(self, sql: str) -> None:
        """Refuse model SQL with more than one statement: only one can return its rows."""
        with self.connections.exception_handler("model"):
            # Only a semicolon can part a text, and reading one takes longer than looking for it.
            count = len(split(sql)) if ";" in sql else 1
            if count > 1:
                raise InputError(
                    f"Expected one query, found {count} statements. Move what has to run before "
                    "it into sql_header or pre_hook."
                )

    @available.parse_list
    def get_columns_in_relation(self, relation: BaseRelation) -> list[VcsColumn]:
        """Return the columns of a relation; none if it doesn't exist or is a function."""
        with self.connections.exception_handler(f"columns of {relation}"):
            return self._columns_of(relation)

    def get_catalog_for_single_relation(self, relation: BaseRelation) -> Any:
        """Return what dbt docs shows about one relation, or None if it doesn't exist."""
        with self._reading(f"catalog of {relation}") as overlay:
            return dbt_catalog.single(overlay, relation, self._name_of(relation))

    def _get_one_catalog(
        self,
        information_schema: InformationSchema,
        schemas: set[str],
        used_schemas: frozenset[tuple[str, str]],
    ) -> agate.Table:
        with self._reading("catalog") as overlay:
            return dbt_catalog.table(overlay, schemas)

    def _get_one_catalog_by_relations(
        self,
        information_schema: InformationSchema,
        relations: Iterable[BaseRelation],
        used_schemas: frozenset[tuple[str, str]],
    ) -> agate.Table:
        names = {self._name_of(relation) for relation in relations}
        with self._reading("catalog") as overlay:
            return dbt_catalog.table(overlay, {name.schema for name in names}, only=names)

    def calculate_freshness_from_metadata_batch(
        self, sources: list[BaseRelation], macro_resolver: Any = None
    ) -> tuple[list[AdapterResponse | None], dict[BaseRelation, Any]]:
        """Return when rows of tables were last written, read only from the branch's manifests."""
        with self._reading("freshness") as overlay:
            externals = self.environment.externals()
            # One moment for all, or sources of one load would differ in age.
            now = datetime_of(overlay.repository.clock())
            times = {
                source: datetime_of(loaded_at(overlay, self._name_of(source), externals))
                for source in sources
            }
        return [], {
            source: self._create_freshness_response(time, now) for source, time in times.items()
        }

    @available.parse(lambda *a, **k: {})
    def vcs_increment(
        self, reader: BaseRelation, relation: BaseRelation, whole: bool
    ) -> dict[str, str | None]:
        """Return the versions `before` and `after` whose difference a table has to consume."""
        with self._reading(f"changes of {relation}") as overlay:
            names = self._name_of(reader), self._name_of(relation)
            step = increment_of(overlay, *names, whole=whole)
        return {"before": step.before, "after": step.after}

    def pre_model_hook(self, config: Any) -> None:
        """Check the file of a seed before dbt reads it; dbt calls this before each node."""
        node: Any = getattr(config, "model", None)
        if str(getattr(node, "resource_type", "")) == "seed":
            path = Path(node.root_path or "", node.original_file_path)
            with self.connections.exception_handler(f"file of seed {node.name}"):
                warning = check_seed_file(path, node.config.delimiter)
            if warning is not None:
                fire_event(Note(msg=warning), EventLevel.WARN)

    @available.parse(lambda *a, **k: "")
    def load_seed(self, relation: BaseRelation, table: agate.Table) -> str:
        """Write a seed's rows to its table and return a summary."""
        handle = self.connections.handle()
        with self.connections.exception_handler(f"load of seed {relation}"):
            name = self._name_of(relation)
            zone = self.environment.credentials.time_zone
            reuse = self.environment.reuse(handle.name)
            self.environment.change(
                handle.inner,
                handle.name,
                lambda inner, overlay, origin: load_seed(
                    inner, overlay, origin, name, table, time_zone=zone, reuse=reuse
                ),
                # Decision 31: a run keeps the rows of a seed, and can load them again.
                repeatable=True,
            )
        return f"-- {len(table.rows)} rows loaded through Arrow"

    @available.parse_list
    def vcs_verb(self, verb: str, arguments: Mapping[str, Any]) -> list[str]:
        """Run a verb of the dbt-vcs command and return the lines that it prints.

        `dbt run-operation` works on the repository directly: no run starts, and nothing is
        published after it. A model or a hook that calls a verb does it within its run.
        """
        environment = self.environment

        def prepare(branch: str) -> Callable[[], list[str]]:
            repository = environment.existing_repository()
            caller = Caller(
                repository=repository,
                author=environment.invocation.author,
                branch=branch,
                schema=environment.credentials.schema,
                engine=lambda: environment.make_engine(repository.blobs),
                rules=environment.rules(),
                settings=environment.invocation.options,
            )
            return prepare_operation(caller, verb, arguments)

        with self.connections.exception_handler(f"dbt-vcs {verb}"):
            return environment.operate(self.connections.handle, verb, arguments, prepare)

    def submit_python_job(
        self, parsed_model: dict[str, Any], compiled_code: str
    ) -> AdapterResponse:
        """Run a Python model; its last lines define how its frame becomes a table."""
        handle = self.connections.handle()
        model = str(parsed_model["name"])
        reads = relations_of(parsed_model, self.get_macro_resolver())
        with self.connections.exception_handler(f"Python model {model}"):
            reuse = self.environment.reuse(handle.name)
            outcome = self.environment.change(
                handle.inner,
                handle.name,
                lambda inner, overlay, origin: run_python_model(
                    inner, overlay, origin, compiled_code, model=model, reads=reads, reuse=reuse
                ),
                # Decision 31: a Python model is repeated only if its config says so.
                repeatable=is_declared_repeatable(parsed_model),
            )
        return self.connections.response_of(outcome)

    def _relation(self, schema: str, identifier: str, entry: Entry, quoting: Any) -> BaseRelation:
        return self.Relation.create(
            schema=schema,
            identifier=identifier,
            type=RelationType(entry.noun),
            quote_policy=quoting,
        )

    @contextmanager
    def _reading(self, what: str) -> Iterator[Overlay]:
        """Yield what this thread's connection sees; our errors inside the block become dbt's."""
        with self.connections.exception_handler(what):
            yield self._overlay()

    def _overlay(self) -> Overlay:
        connection = self.connections.get_if_exists()
        name = connection.name if connection is not None and connection.name else "master"
        return self.environment.overlay(name)

    @property
    def _schema(self) -> str:
        """The schema of unqualified names on this thread's connection."""
        if self.connections.get_if_exists() is None:
            return self.environment.credentials.schema.lower()
        return self.connections.handle().inner.schema

    def _name_of(self, relation: BaseRelation) -> RelationName:
        """Return the name that a relation's text refers to in a statement."""
        # Packages make temporary relations without a schema, whose text means the session's.
        schema = self._schema if _is_bare(relation) else str(relation.schema)
        return RelationName(schema.lower(), (relation.identifier or "").lower())

    def _temporary(self, relation: BaseRelation) -> str | None:
        """Return the temporary view that a relation's text refers to, or None."""
        if not _is_bare(relation):
            return None
        name = Name(schema=None, identifier=relation.identifier or "")
        return self.connections.handle().inner.temporaries.view(name)

    def _columns_of(self, relation: BaseRelation) -> list[VcsColumn]:
        inner = self.connections.handle().inner
        scope = inner.scope("", self._overlay(), Origin())
        name = self._name_of(relation)
        entry = scope.overlay.entry(name)
        temporary = self._temporary(relation)
        # As in a statement: a temporary view hides the table of its name.
        if temporary is not None:
            found = scope.columns_of_temporary(temporary)
        elif entry.noun == "function" if entry else name not in scope.externals:
            return []
        else:
            found = self.environment.columns(inner, self.connections.handle().name, name)
        return [
            VcsColumn(
                table_schema=relation.schema,
                table_name=relation.name,
                table_type=str(relation.type) if relation.type else None,
                column=column,
                column_index=index,
                dtype=dtype,
            )
            for index, (column, dtype, _) in enumerate(found)
        ]

    def _end_operation(self, *, success: bool) -> None:
        life = self.environment.life
        if life is None or life.is_ended:
            return
        try:
            life.end(success, life.seconds)
        except VcsError as error:
            raise DbtRuntimeError(self.environment.typed(str(error))) from error


def _is_bare(relation: BaseRelation) -> bool:
    return isinstance(relation, VcsRelation) and relation.is_bare


def _say(line: str) -> None:
    fire_event(Note(msg=line), level=EventLevel.INFO)
