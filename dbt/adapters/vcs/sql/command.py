"""Any other statement, which Spark runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dbt.adapters.vcs.sql.statement import Statement
from dbt.adapters.vcs.sql.syntax.diff_call import DiffReference
from dbt.adapters.vcs.sql.syntax.names import Reference
from dbt.adapters.vcs.sql.syntax.query import PlaceT, edited, renames


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkCommand(Statement):
    """A statement that changes no branch: `set`, `cache table`, `explain`, `create function`...

    Attributes:
        text: As the user wrote it; nothing follows its last token.
        mentions: What it reads, or, if that is not known, every name in it that could be a
            relation's, whether such a relation exists or not.
        diffs: Diffs of versions that it reads.
        writes: True if it may write outside of the session: files, other catalogs.
        places: Locations that it names, if it may write.
    """

    text: str
    mentions: tuple[Reference, ...] = ()
    diffs: tuple[DiffReference, ...] = ()
    writes: bool = False
    places: tuple[str, ...] = ()

    def rewritten(self, replacements: Mapping[PlaceT, str]) -> str:
        """Return the text with mentions and diffs replaced by other relations, as SQL."""
        return edited(self.text, renames(replacements, self.text))
