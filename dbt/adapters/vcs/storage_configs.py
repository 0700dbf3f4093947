"""Storage configs that a versioned table can't have, found before anything runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from dbt.adapters.vcs.core.errors import UnsupportedError

REFUSE: Final = "refuse"
IGNORE: Final = "ignore"
MODES: Final = (REFUSE, IGNORE)
"""Values of the profile's field `storage_configs`."""

FORMATS: Final = ("parquet", "vcs", "")
"""Values of `file_format` that agree with a versioned table."""

_WITH_TABLE: Final = frozenset({"model", "seed", "snapshot", "test"})
_WITHOUT_TABLE: Final = frozenset({"view", "ephemeral", "materialized_view"})
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
    if mode == IGNORE:
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
