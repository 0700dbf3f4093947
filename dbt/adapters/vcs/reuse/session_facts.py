"""Session facts: what statements did to a session that later results depend on."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from dbt.adapters.vcs.statements.families.command import SparkCommand
from dbt.adapters.vcs.statements.statement import Statement
from dbt.adapters.vcs.statements.syntax.canonical import without_margins
from dbt.adapters.vcs.statements.syntax.excerpts import excerpt

_SET: Final = re.compile(r"\s*set\s+([\w.-]+)\s*=\s*(.*?)\s*;?\s*", re.IGNORECASE | re.DOTALL)
_WITHOUT_EFFECT: Final = re.compile(
    r"\s*(analyze|cache|clear|desc|describe|explain|refresh|show|uncache|use)\b", re.IGNORECASE
)


@dataclass(slots=True)
class SessionFacts:
    """What a session was told.

    Attributes:
        changed: Settings that statements changed, with their values.
        doubt: Why results may depend on something that is not known; None if they don't.
    """

    changed: dict[str, str] = field(default_factory=dict)
    doubt: str | None = None

    def clear(self) -> None:
        """Forget everything: the session is closed."""
        self.changed.clear()
        self.doubt = None

    def follow(self, statement: Statement) -> None:
        """Take notice of a statement that the session is sent."""
        if not isinstance(statement, SparkCommand):
            return
        setting = setting_of(statement)
        if setting is not None:
            self.changed[setting[0]] = setting[1]
        elif not _WITHOUT_EFFECT.match(without_margins(statement.text)) and self.doubt is None:
            self.doubt = f"`{excerpt(statement.text, 40)}` was carried out before"


def setting_of(statement: Statement) -> tuple[str, str] | None:
    """Return the setting and the value of `set setting = value`; None for all others."""
    if not isinstance(statement, SparkCommand):
        return None
    found = _SET.fullmatch(without_margins(statement.text))
    if found is None or found[1].lower() in ("var", "variable"):
        return None
    return found[1], found[2]
