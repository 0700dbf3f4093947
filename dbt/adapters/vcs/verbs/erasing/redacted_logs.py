"""Redacted logs: texts taken out of the notes and facts in logs, whose moves stay what they were.

The file of a move is written anew. The move behind it goes on naming the digest of the old file,
which leads to the new one (`forwards`), so that nothing else changes: neither for processes that
remember the old file, nor for those that append to the log meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from dbt.adapters.vcs.core.codec import encode_record
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.core.store.chain import digest_of, opened, redacted


@dataclass(frozen=True, slots=True)
class LogRedaction:
    """Files of moves, to be written without some texts.

    Attributes:
        files: The new bytes of each file.
        digests: The new digest of each file, by the old one.
    """

    files: Mapping[str, bytes] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)


def plan_redaction(blobs: Blobs, folder: str, change: Callable[[str], str]) -> LogRedaction:
    """Return what redacts all logs below a folder; `change` takes the texts out of another one.

    Raises:
        DamagedError: A move is not the one that was written.
    """
    files: dict[str, bytes] = {}
    digests: dict[str, str] = {}
    for info in list(blobs.walk(folder)):
        old = blobs.get(info.path)
        move = opened(old, info.path)
        new = redacted(move, change)
        if new != move:
            files[info.path] = encode_record(new)
            digests[digest_of(old)] = digest_of(files[info.path])
    return LogRedaction(files, digests)


def apply_redaction(blobs: Blobs, plan: LogRedaction) -> None:
    """Write the files, once it is stored where the old digests lead."""
    for path, data in plan.files.items():
        blobs.replace_all({path: data})
