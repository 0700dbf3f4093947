"""The project's nodes, from dbt's manifest."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from dbt.adapters.vcs.core.model import NodeRun, Origin

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
            attached = getattr(node, "attached_node", None)
            found.update([attached] if attached else node.depends_on.nodes)
        return tuple(sorted(id for id in found if self.digest(id)))

    @property
    def _nodes(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = getattr(self._manifest(), "nodes", {})
        return found
