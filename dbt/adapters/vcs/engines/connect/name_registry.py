"""What the names of a branch mean to all sessions of one engine.

A server's catalog is shared by everyone who uses the server. So nothing of a branch is in it: a
session makes temporary views of what a statement names, under names made from the contents.
"""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass, field
from typing import Final

from dbt.adapters.vcs.core.model import Function, RelationName
from dbt.adapters.vcs.engines.version_mounts import TableMount
from dbt.adapters.vcs.table.quoting import quoted, quoted_relation

PREFIX: Final = "__vcs_"
"""Prefix of all names that a session makes."""

_MISSING: Final = f"{PREFIX}none_"
_MADE: Final = re.compile(rf"(?:`spark_catalog`\.)?(`?)({PREFIX}[vqfxp]_\w+)\1")


@dataclass(frozen=True, slots=True)
class MountedView:
    """A query under a name; `columns` overrides its names and comments."""

    text: str
    columns: tuple[tuple[str, str | None], ...]


@dataclass(frozen=True, slots=True)
class MountedFiles:
    """Files that are not versioned, listed anew in each edition."""

    location: str
    format: str
    options: tuple[tuple[str, str], ...]
    edition: int


@dataclass(frozen=True, slots=True)
class MountedFunction:
    """A function; `id` identifies its version and those of everything that it needs."""

    id: str
    function: Function


Mounted = TableMount | MountedView | MountedFiles


@dataclass(slots=True)
class NameRegistry:
    """The names that all sessions of an engine share. Safe to use from several threads.

    Attributes:
        relations: The relations of the branch, and files, by name.
        functions: The branch's functions.
        versions: Versions mounted under names of their own, by the end of that name.
    """

    relations: dict[RelationName, Mounted] = field(default_factory=dict)
    functions: dict[RelationName, MountedFunction] = field(default_factory=dict)
    versions: dict[str, TableMount] = field(default_factory=dict)
    _labels: dict[str, RelationName] = field(default_factory=dict)
    _editions: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def edition(self) -> int:
        """Return a number that no other listing of files has."""
        with self._lock:
            self._editions += 1
            return self._editions

    def label(self, made: str, name: RelationName) -> None:
        """Remember which name of the branch a session's own name stands for."""
        self._labels[made] = name

    def own_words(self, message: str) -> str:
        """Return a message with the branch's names in the place of sessions' own."""

        def own(found: re.Match[str]) -> str:
            name = self._labels.get(found[2])
            if name is None:
                return found[0]
            return quoted_relation(name) if found[1] else str(name)

        message = message.replace(f"`spark_catalog`.`{_MISSING}", f"`{_MISSING}")
        return _MADE.sub(own, message).replace(_MISSING, "")


def missing(name: RelationName) -> str:
    """Return a name that nothing has, as SQL, for a relation that the branch lacks.

    The server's own relation of that name must not be read in its place.
    """
    return f"{quoted(_MISSING + name.schema)}.{quoted(name.identifier)}"
