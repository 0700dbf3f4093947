"""A ref move: one line of a branch's or a tag's log; the last one is its state."""

from __future__ import annotations

from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.model.value import Moment, Value


class RefMove(Value, frozen=True, kw_only=True):
    """One move of a ref.

    Attributes:
        name: The ref's name, unquoted.
        commit: Where it points now; None after it was deleted.
        at: When.
        by: Who.
        action: What moved it: `create`, `commit`, `publish`, `merge`, `delete`, `state`, ...
        note: Free text.
        state: Facts about the branch that moves carry along, such as a run's status and lease.
        host: Machine of the process that wrote it; empty in logs of earlier versions, as `version`
            is.
        pid: Number of that process; 0 in logs of earlier versions.
        version: Version of dbt-vcs.
        previous: SHA-256 of the file of the move before; empty for the first move.
        digest: SHA-256 of this move's own bytes without this key; empty in logs of earlier
            versions.
    """

    name: str
    commit: CommitId | None
    at: Moment
    by: str
    action: str
    note: str = ""
    state: dict[str, str] = {}
    host: str = ""
    pid: int = 0
    version: str = ""
    previous: str = ""
    digest: str = ""


class Forwarding(Value, frozen=True, kw_only=True):
    """What took the place of each object and each move that a purge replaced, by the old id.

    Attributes:
        commits: Of commits.
        trees: Of trees, of both levels.
        snapshots: Of versions of tables.
        segments: Of segments.
        moves: Of files of moves whose free text was redacted; their ids are the files' SHA-256.
    """

    commits: dict[str, str] = {}
    trees: dict[str, str] = {}
    snapshots: dict[str, str] = {}
    segments: dict[str, str] = {}
    moves: dict[str, str] = {}
