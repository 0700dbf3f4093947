"""One version of a table with what its manifests list, and how an engine reads it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from dbt.adapters.vcs.core.codec import encode
from dbt.adapters.vcs.core.model import Block, Derivation, Field, Segment, Snapshot, Tombstone
from dbt.adapters.vcs.core.plan.compaction import Contents, carried_out, contents_of
from dbt.adapters.vcs.core.plan.delta import ReadSegments
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.engines.port import TableMount


# Without slots, as `cached_property` keeps its values in `__dict__`.
@dataclass(frozen=True, kw_only=True)
class Version:
    """One version of a table, stored or about to be.

    Manifests are read when the first of them is asked for, and once.

    Attributes:
        snapshot: Its definition, and which manifests it has.
        read: Returns manifests by their ids.
    """

    snapshot: Snapshot
    read: ReadSegments

    @classmethod
    def of(cls, repository: Repository, snapshot: Snapshot) -> Version:
        """Return a version whose manifests are in a repository."""
        return cls(snapshot=snapshot, read=repository.objects.segments)

    @cached_property
    def id(self) -> str:
        """The snapshot's id, which it has before it is stored, too."""
        return encode(self.snapshot)[0]

    @cached_property
    def segments(self) -> tuple[Segment, ...]:
        """The manifests, in order."""
        return tuple(self.read(ref.id for ref in self.snapshot.segments))

    @cached_property
    def contents(self) -> Contents:
        """All blocks and tombstones, as compaction looks at them."""
        return contents_of(self.segments)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """All blocks, in order."""
        return self.contents.blocks

    @property
    def tombstones(self) -> tuple[Tombstone, ...]:
        """All tombstones, in order."""
        return self.contents.tombstones

    @property
    def deleted(self) -> Mapping[str, int]:
        """Rows that tombstones delete, by path of the block; blocks without any are left out."""
        return self.contents.deleted

    @property
    def derivations(self) -> tuple[Derivation, ...]:
        """All compactions that are known, in order."""
        return self.contents.derivations

    def nulls(self, field: Field) -> int | None:
        """Return how many rows have NULL in a column; None if the manifests don't know.

        Rows that tombstones delete don't count.
        """
        count = 0
        for block in self.blocks:
            if not block.rows:
                continue
            stats = block.stats.get(field.id)
            if stats is None or stats.nulls < 0:
                return None
            # The deleted rows may be those with NULL.
            is_holed = bool(stats.nulls) and block.path in self.deleted
            # A file that lacks the column counts as NULL, and readers see the initial value.
            is_filled = stats.nulls == block.rows and field.initial is not None
            if is_holed or is_filled:
                return None
            count += stats.nulls
        return count

    def mount(
        self, blocks: Sequence[Block] | None = None, *, fields: Sequence[Field] | None = None
    ) -> TableMount:
        """Return what an engine needs to read the rows that are not deleted.

        Args:
            blocks: Where they are: blocks of this version, or others written for it; None for
                all of this version.
            fields: The only columns to read; None for all.
        """
        mounted = self.blocks if blocks is None else tuple(blocks)
        paths = tuple(block.path for block in mounted)
        every = tuple(block.path for block in self.blocks) if blocks is not None else paths
        shown = self.snapshot.schema.fields if fields is None else tuple(fields)
        # What an engine keeps under the id must be this list of files with these columns.
        id = self.id[:32]
        if paths != every or shown != self.snapshot.schema.fields:
            told = "\n".join([self.id, *paths, "", *map(repr, shown)])
            id = f"{id[:16]}_{hashlib.sha256(told.encode()).hexdigest()[:32]}"
        return TableMount(
            id=id,
            folder=f"data/{self.snapshot.table}",
            files=paths,
            fields=shown,
            # Decision 9: an entry lists the blocks that it deletes from, here those mounted.
            tombstones=self.tombstones if paths == every else carried_out(self.tombstones, paths),
            entries=mounted,
        )
