"""Upkeep: compaction, or a warning, for changed tables that are slow to read."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

from dbt.adapters.vcs.core.errors import VcsError
from dbt.adapters.vcs.core.model import Origin, RelationName, TableEntry
from dbt.adapters.vcs.sql.optimize_handler import is_table_due, put_optimized, rewrite_table
from dbt.adapters.vcs.sql.property_handler import AUTO_OPTIMIZE
from dbt.adapters.vcs.workspace.lines.line_workspace import Workspace
from dbt.adapters.vcs.workspace.lines.lines import Line
from dbt.adapters.vcs.workspace.overlay import Overlay

_SHOWN: Final = 5


class Upkeep:
    """Checks the tables that a run changed; its errors never fail the run."""

    def __init__(
        self, workspace: Workspace, line: Line, *, auto: bool, warn: Callable[[str], None]
    ) -> None:
        """Take where to work; `auto` is the default for tables without the setting."""
        self._workspace = workspace
        self._line = line
        self._auto = auto
        self._warn = warn
        self._lock = threading.Lock()
        self._due: set[RelationName] = set()

    def look(self, overlay: Overlay) -> None:
        """Check the tables that a committed overlay changed."""
        for name, entry in overlay.relations.items():
            if not isinstance(entry, TableEntry):
                continue
            snapshot = overlay.snapshot(entry.snapshot)
            if not is_table_due(overlay.repository, snapshot):
                with self._lock:
                    self._due.discard(name)
            elif snapshot.properties.get(AUTO_OPTIMIZE, str(self._auto).lower()) == "true":
                self._compact(name)
            else:
                with self._lock:
                    self._due.add(name)

    def tell(self) -> None:
        """Warn about tables that are due for compaction."""
        if not self._due:
            return
        names = sorted(map(str, self._due))
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        self._warn(
            f"Many small files or deleted rows make these tables slow to read: "
            f"{', '.join(names[:_SHOWN])}"
            f"{more}. Compact them: dbt-vcs optimize {names[0]}, or set auto_optimize: true."
        )

    def _compact(self, name: RelationName) -> None:
        overlay = self._workspace.begin()
        try:
            rewrites = rewrite_table(
                overlay.repository,
                overlay.require_table(name),
                lambda: self._workspace.open_session("optimize"),
            )
            if put_optimized(overlay, name, rewrites, Origin()) is not None:
                self._line.land(overlay, f"Optimize {name}")
        except VcsError as error:
            self._warn(f"{name} was not compacted: {error}")
