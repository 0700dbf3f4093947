"""Computed times such as `t timestamp as of now() - interval 1 day`."""

from __future__ import annotations

from typing import Final

from dbt.adapters.vcs.core.errors import EngineError, InputError
from dbt.adapters.vcs.core.ids import Micros, datetime_of
from dbt.adapters.vcs.rows.positions import placeless
from dbt.adapters.vcs.scope.statement_scope import Scope
from dbt.adapters.vcs.statements.syntax.computed import computed_times, is_kept
from dbt.adapters.vcs.statements.syntax.lexer import tokenize
from dbt.adapters.vcs.statements.syntax.literals import quote_text
from dbt.adapters.vcs.statements.syntax.query import Edit, edited

_WORDS: Final = ("timestamp", "system_time")


def written_out(scope: Scope) -> str:
    """Return the scope's statement with each computed time replaced by its value.

    As in Spark, the expression must be constant: functions of constants, and session
    variables. The text of a view or a function stays unchanged, since it is evaluated each
    time it is read.

    Raises:
        InputError: An expression is not a time.
    """
    text = scope.text
    if not any(word in text.lower() for word in _WORDS):
        return text
    try:
        tokens = tokenize(text)
    except InputError:
        return text  # the parser reports the error
    if is_kept(tokens):
        return text
    edits = [
        Edit(place.start, place.end, quote_text(_time(scope, text[place.start : place.end])))
        for place in computed_times(tokens)
    ]
    return edited(text, edits)


def _time(scope: Scope, expression: str) -> str:
    query = f"select unix_micros(cast(({expression}\n) as timestamp))"
    try:
        [[value]] = scope.session.query(query).fetch()
    except EngineError as error:
        raise InputError(
            f"`timestamp as of {expression}` needs a time that doesn't depend on rows: "
            f"{placeless(error)} "
            "Write a constant expression, such as current_timestamp() - interval 1 day, or the "
            "time as text."
        ) from error
    if value is None:
        raise InputError(
            f"`timestamp as of {expression}` gives NULL, which is no time. Write the time as "
            "text: timestamp as of '2026-01-31 12:00:00'."
        )
    return datetime_of(Micros(value)).isoformat(sep=" ")
