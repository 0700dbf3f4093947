"""Any other statement, which Spark carries out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dbt.adapters.vcs.statements.statement import Statement
from dbt.adapters.vcs.statements.syntax.diff_call import DiffReference
from dbt.adapters.vcs.statements.syntax.names import Reference
from dbt.adapters.vcs.statements.syntax.query import PlaceT, edited, renames


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkCommand(Statement):
    """A statement that changes no branch: `set`, `cache table`, `explain`, `create function`...

    Attributes:
        text: As the user wrote it; behind its last token nothing follows.
        mentions: What it reads; or, where that is not known, every name in it that could be a
            relation's, whether there is such a relation or not.
        diffs: Differences of versions that it reads.
    """

    text: str
    mentions: tuple[Reference, ...] = ()
    diffs: tuple[DiffReference, ...] = ()

    def rewritten(self, replacements: Mapping[PlaceT, str]) -> str:
        """Return the text with other relations, as SQL, in the place of mentions and diffs."""
        return edited(self.text, renames(replacements, self.text))
