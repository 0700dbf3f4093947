"""Reads check constraints: `[constraint name] check (expression)`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.statements.syntax.column_clauses import Check
from dbt.adapters.vcs.statements.syntax.cursor import TokenCursor

CHECK: Final = "vcs.check."
"""Table property: followed by a constraint's name, the condition of that check constraint."""


def read_check(cursor: TokenCursor, name: str | None) -> Check:
    """Read `check (expression) [enforced]`, whose name has been read.

    Raises:
        UnsupportedError: It is marked as not enforced.
    """
    cursor.expect("check")
    opening = cursor.token
    cursor.skip_group()
    expression = cursor.text[opening.end : cursor.last.start].strip()
    if not expression:
        raise InputError("A check constraint has no condition in its parentheses. Give one.")
    while cursor.take_any("enforced", "rely", "norely"):
        pass
    if cursor.at("not", "enforced"):
        raise UnsupportedError(
            f"The constraint check ({expression}) is marked `not enforced`; every check of a "
            "versioned table is enforced. Leave it out, and test for it instead."
        )
    return Check(name=name, expression=expression)


def check_properties(checks: Iterable[tuple[str, Check]]) -> dict[str, str]:
    """Return the properties that store check constraints.

    Args:
        checks: Each with its subject, a column or the table, which names a check without a
            name.

    Raises:
        InputError: Two have the same name.
    """
    found: dict[str, str] = {}
    for subject, check in checks:
        key = CHECK + (check.name.lower() if check.name else free_name(subject, found))
        if key in found:
            raise InputError(
                f"Two constraints are called {check.name}. Give one of them another name."
            )
        found[key] = check.expression
    return found


def free_name(subject: str, taken: Iterable[str]) -> str:
    """Return a name for a check constraint that is not yet taken."""
    name, number = f"{subject.lower()}_check", 1
    known = set(taken)
    while CHECK + name in known:
        number += 1
        name = f"{subject.lower()}_check_{number}"
    return name
