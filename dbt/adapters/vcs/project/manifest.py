"""What dbt's manifest says: the project's nodes, its external sources, storage configs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Final

from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.core.model import NodeRun, Origin, RelationName
from dbt.adapters.vcs.workspace.mounts import External
from dbt.adapters.vcs.yaml_text import setting_text

_BUILT = frozenset({"model", "seed", "snapshot"})


class Project:
    """The nodes of the project that dbt runs; empty until dbt has parsed it."""

    def __init__(self, manifest: Callable[[], Any]) -> None:
        """`manifest` returns dbt's manifest, or None before it is parsed."""
        self._manifest = manifest

    @property
    def has_hooks(self) -> bool:
        """True if the project or a package has on-run-start or on-run-end hooks."""
        return any(str(node.resource_type) == "operation" for node in self._nodes.values())

    @property
    def sources(self) -> Mapping[str, Any]:
        """Sources by unique id."""
        found: Mapping[str, Any] = getattr(self._manifest(), "sources", {})
        return found

    def node(self, id: str) -> Any:
        """Return a node by its unique id, None if there is none."""
        return self._nodes.get(id)

    def origin(self, id: str, invocation: str) -> Origin:
        """Return the origin of a statement, from its connection's name."""
        node = self._nodes.get(id)
        code = getattr(node, "compiled_code", None) if node is not None else None
        return Origin(
            node=id if node is not None else None,
            invocation=invocation,
            sql_sha256=hashlib.sha256(code.encode()).hexdigest() if code else None,
        )

    def digest(self, id: str) -> str | None:
        """Return dbt's checksum of the file that defines a model, seed or snapshot, or None."""
        node = self._nodes.get(id)
        if node is None or str(node.resource_type) not in _BUILT:
            return None
        checksum = getattr(node.checksum, "checksum", None)
        return str(checksum) if checksum else None

    def outdated(self, steps: Iterable[NodeRun]) -> tuple[str, ...]:
        """Return the ids of nodes whose file has changed since a step built them."""
        last = {step.id: step for step in steps}
        return tuple(
            sorted(
                id
                for id, step in last.items()
                if step.status == "success"
                and step.file_checksum is not None
                and self.digest(id) not in (None, step.file_checksum)
            )
        )

    def read_by(self, tests: Iterable[str]) -> tuple[str, ...]:
        """Return the ids of the models, seeds and snapshots that tests check."""
        found: set[str] = set()
        for id in tests:
            node = self._nodes.get(id)
            if node is None:
                continue
            # A test of a relationship depends on two models, and is about the one that it is
            # attached to.
            attached = getattr(node, "attached_node", None)
            found.update([attached] if attached else node.depends_on.nodes)
        return tuple(sorted(id for id in found if self.digest(id)))

    def ancestor(self, id: str, among: Collection[str]) -> str | None:
        """Return one of some nodes that a node reads, itself or by way of others, or None."""
        waiting, seen = [id], {id}
        while waiting and among:
            # Nodes such as seeds depend on macros only.
            needs = getattr(self._nodes.get(waiting.pop()), "depends_on", None)
            for parent in getattr(needs, "nodes", ()):
                if parent in among:
                    return str(parent)
                if parent not in seen:
                    seen.add(parent)
                    waiting.append(parent)
        return None

    @property
    def _nodes(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = getattr(self._manifest(), "nodes", {})
        return found


_FORMATS = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".orc": "orc",
    ".txt": "text",
}
_DEFAULTS: Mapping[str, Mapping[str, str]] = {
    # Most writers double a quote inside of quotes. Spark expects a backslash by default.
    "csv": {"header": "true", "inferSchema": "true", "escape": '"'}
}


def externals_of(sources: Mapping[str, Any], project_root: Path) -> dict[RelationName, External]:
    """Return the sources with `external_location` in their meta, by name.

    A table's `meta` overrides its source's `meta`. In a location, `{name}`, `{identifier}` and
    `{schema}` are replaced by the table's; a relative path is relative to the project. `format` is
    derived from the file extension if it is not given, `options` are Spark's reader options.

    Raises:
        InputError: The format of a location is unknown, a placeholder is unknown, or one name
            refers to two locations.
    """
    found: dict[RelationName, External] = {}
    labels: dict[RelationName, str] = {}
    for source in sources.values():
        meta = {**(source.source_meta or {}), **(source.meta or {})}
        # From dbt 1.10 on `meta` belongs into `config`; projects have it in either place.
        config_meta = getattr(source.config, "meta", None) or {}
        meta = {**meta, **config_meta}
        if "external_location" in meta:
            name = RelationName(source.schema.lower(), source.identifier.lower())
            external = _external(source, meta, project_root)
            if found.setdefault(name, external) != external:
                raise InputError(
                    f"{labels[name]} and {_label(source)} are both called {name} (case is "
                    f"ignored), at {found[name].location} and {external.location}. Give one "
                    "of them another identifier."
                )
            labels[name] = _label(source)
    return found


def _label(source: Any) -> str:
    return f"The source {source.source_name}.{source.name}"


def _external(source: Any, meta: Mapping[str, Any], project_root: Path) -> External:
    label = _label(source)
    try:
        location = str(meta["external_location"]).format(
            name=source.name, identifier=source.identifier, schema=source.schema
        )
    except (KeyError, IndexError, ValueError) as error:
        raise InputError(
            f"{label} has an external_location with an unknown placeholder ({error}); "
            "expected {name}, {identifier} or {schema}."
        ) from error
    if "://" not in location and not location.startswith("/"):
        location = str(project_root.resolve() / location)
    format = meta.get("format") or _FORMATS.get(_suffix(location))
    if format is None:
        raise InputError(
            f"{label} has the external_location {meta['external_location']}, whose format is not "
            "clear from its extension. Set it: meta: {format: parquet}."
        )
    given = {str(key): setting_text(value) for key, value in (meta.get("options") or {}).items()}
    defaults = dict(_DEFAULTS.get(str(format), {}))
    if _suffix(location) == ".tsv":
        defaults["sep"] = "\t"
    return External(location=location, format=str(format), options={**defaults, **given})


def _suffix(location: str) -> str:
    path = PurePosixPath(location.rstrip("/"))
    # Spark unpacks these itself, so the format is in what comes before.
    suffixes = [suffix for suffix in path.suffixes if suffix not in (".gz", ".bz2", ".zst")]
    return suffixes[-1].lower() if suffixes else ""


FORMATS: Final = ("parquet", "vcs", "")
"""Values of `file_format` that agree with a versioned table."""

_WITH_TABLE: Final = frozenset({"model", "seed", "snapshot", "test"})
_WITHOUT_TABLE: Final = frozenset({"view", "ephemeral", "materialized_view"})
# What a project sets so that a package's config no longer counts.
_FREED: Final = {
    "file_format": "parquet",
    "clustered_by": "null",
    "buckets": "null",
    "location_root": "null",
}


def check_storage(nodes: Iterable[Any], *, mode: str, warn: Callable[[str], None]) -> None:
    """Refuse dbt nodes whose configs ask for another storage, or warn once about all.

    Args:
        nodes: The dbt nodes that the command will run.
        mode: `refuse` or `ignore`.
        warn: Called with the warning where they are ignored.

    Raises:
        UnsupportedError: Some nodes have such configs and the mode is `refuse`; the message
            lists them all and says what to write.
    """
    found = {node.unique_id: (node, asked) for node in nodes if (asked := asked_by(node))}
    if not found:
        return
    if mode == "ignore":
        left_out = "; ".join(f"{_words(asked)} of {id}" for id, (_, asked) in found.items())
        warn(
            "Every table is Parquet and lies in the repository (storage_configs: ignore). Left "
            f"out: {left_out}"
        )
        return
    lines = [
        f"  {id} ({node.original_file_path}): {_words(asked)}"
        for id, (node, asked) in sorted(found.items())
    ]
    count = "One node asks" if len(lines) == 1 else f"{len(lines)} nodes ask"
    raise UnsupportedError(
        "\n".join(
            [
                f"{count} for a storage that versioned tables don't have: each is Parquet, in "
                "the repository. Nothing was run.",
                *lines,
                "Remove these configs, or override those of a package's dbt_project.yml in yours:",
                *_overrides(found.values()),
                "Or leave them all out, with one warning, by `storage_configs: ignore` in the "
                "profile.",
            ]
        )
    )


def asked_by(node: Any) -> dict[str, Any]:
    """Return the configs of a node that ask for another storage, by name."""
    config = node.config
    kind = str(node.resource_type)
    if kind not in _WITH_TABLE or config.materialized in _WITHOUT_TABLE:
        return {}
    # Without a table there is no storage to ask for.
    if kind == "test" and not node.should_store_failures:
        return {}
    asked: dict[str, Any] = {}
    if str(config.get("file_format") or "").lower() not in FORMATS:
        asked["file_format"] = config.get("file_format")
    # Spark needs both; with only one of them nothing is bucketed.
    if config.get("clustered_by") and config.get("buckets"):
        asked["clustered_by"] = config.get("clustered_by")
        asked["buckets"] = config.get("buckets")
    if config.get("location_root"):
        asked["location_root"] = config.get("location_root")
    return asked


def _words(asked: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}: {value}" for name, value in asked.items())


def _overrides(found: Iterable[tuple[Any, Mapping[str, Any]]]) -> list[str]:
    """Return the lines for dbt_project.yml, one per kind of node and package."""
    wanted: dict[tuple[str, str], dict[str, str]] = {}
    for node, asked in found:
        kind = "data_tests" if str(node.resource_type) == "test" else f"{node.resource_type}s"
        configs = wanted.setdefault((kind, node.package_name), {})
        configs.update({name: _FREED[name] for name in asked})
    lines: list[str] = []
    for (kind, package), configs in sorted(wanted.items()):
        said = ", ".join(f"+{name}: {value}" for name, value in configs.items())
        lines.append(f"  {kind}: {{{package}: {{{said}}}}}")
    return lines
