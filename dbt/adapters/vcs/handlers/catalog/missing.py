"""Errors for relations that a statement reads and that don't exist."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.engines.engine_errors import StatementError
from dbt.adapters.vcs.scope.statement_scope import Scope

_CONDITION: Final = "TABLE_OR_VIEW_NOT_FOUND"
_NAMED: Final = re.compile(r"table or view (`(?:[^`]|``)+`(?:\.`(?:[^`]|``)+`)*) cannot be found")
_PLACE: Final = re.compile(r"line \d+,? pos \d+")
_NEAR: Final = 3


@contextmanager
def named(scope: Scope) -> Iterator[None]:
    """Replace Spark's error for an unknown relation by one that suggests similar names.

    Spark's own message has four lines on search paths, which don't apply to a branch.
    """
    try:
        yield
    except StatementError as error:
        found = _NAMED.search(str(error)) if error.condition == _CONDITION else None
        if found is None:
            raise
        name = _name(found[1], scope.schema)
        place = _PLACE.search(str(error))
        words = f"[{_CONDITION}] There is no table or view {name} here. {_hint(scope, name)}"
        words += f" It is read in {place[0]}." if place else ""
        raise StatementError(words, _CONDITION) from error.__cause__


def _name(quoted: str, schema: str) -> RelationName:
    parts = [part.replace("``", "`") for part in quoted[1:-1].split("`.`")]
    return RelationName(parts[-2] if len(parts) > 1 else schema, parts[-1])


def _hint(scope: Scope, name: RelationName) -> str:
    overlay = scope.overlay
    known = {str(external) for external in scope.externals} | {
        f"{schema}.{identifier}"
        for schema in overlay.schema_names()
        for identifier in overlay.entries(schema)
    }
    near = difflib.get_close_matches(str(name).lower(), sorted(known), n=_NEAR)
    if near:
        return f"Did you mean {' or '.join(near)}?"
    if not overlay.has_schema(name.schema.lower()):
        schemas = ", ".join(overlay.schema_names()) or "none yet"
        return f"The schemas are: {schemas}."
    return "Check the spelling, or that it is built first: in dbt, refer to it by ref()."
