"""A listed version: the manifest list of a version of a table, as it is stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import msgspec

from dbt.adapters.vcs.iceberg.avro_files import AvroFile, Record, open_avro
from dbt.adapters.vcs.iceberg.manifest_files import read_list

TYPES: Final = "dbt-vcs.types"
SPECS: Final = "dbt-vcs.specs"
SUMMARY: Final = "dbt-vcs.summary"
ROWS: Final = "dbt-vcs.rows"
AFTER: Final = "dbt-vcs.after"
"""What a list was made from: the list of the version before."""


@dataclass(frozen=True)
class ListedVersion:
    """A version's manifest list.

    Most are read for what their header says alone, so the manifests are decoded where needed.

    Attributes:
        path: Relative to the repository.
        data: The file.
    """

    path: str
    data: bytes

    @classmethod
    def of_facts(cls, path: str, data: bytes, facts: Mapping[str, str]) -> ListedVersion:
        """Return a list whose header was just made, and needs no reading."""
        found = cls(path, data)
        found.__dict__["facts"] = dict(facts)
        return found

    @cached_property
    def facts(self) -> dict[str, str]:
        """What its header says."""
        return {key: value.decode() for key, value in self._file.meta.items()}

    @cached_property
    def manifests(self) -> list[Record]:
        """What it lists."""
        return read_list(self._file)

    @cached_property
    def _file(self) -> AvroFile:
        return open_avro(self.data)

    @property
    def after(self) -> str:
        """Path of the list that it was made from; empty for none."""
        return self.facts.get(AFTER, "")

    @property
    def summary(self) -> dict[str, str]:
        """What the version changed, in Iceberg's words."""
        found: dict[str, str] = msgspec.json.decode(self.facts[SUMMARY])
        return found

    @property
    def first_row(self) -> int:
        """The number of its first new row, in format version 3."""
        return int(msgspec.json.decode(self.facts[ROWS])[0])

    @property
    def next_row(self) -> int:
        """The number of the first row of the version after it, in format version 3."""
        return int(msgspec.json.decode(self.facts[ROWS])[1])

    def by_path(self) -> dict[str, Record]:
        """Return its manifests by their URI."""
        return {str(manifest["manifest_path"]): manifest for manifest in self.manifests}

    @cached_property
    def specs(self) -> dict[int, tuple[str, ...]]:
        """The columns of each partition spec, by its number."""
        stored = msgspec.json.decode(self.facts[SPECS])
        return {int(number): tuple(ids) for number, ids in stored.items()}

    @cached_property
    def types(self) -> dict[str, str]:
        """The types of the version's columns by field id."""
        found: dict[str, str] = msgspec.json.decode(self.facts[TYPES])
        return found

    def by_segment(self) -> dict[str, list[Record]]:
        """Return the manifests of each segment; those of removed blocks are left out."""
        found: dict[str, list[Record]] = {}
        for manifest in self.manifests:
            name = str(manifest["manifest_path"]).rpartition("/")[2]
            found.setdefault(name.partition("-")[0], []).append(manifest)
        for others in ("removed", "vectors"):
            found.pop(others, None)
        return found
