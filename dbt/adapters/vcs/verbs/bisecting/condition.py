"""A condition: a query that says of one commit whether its tables are good."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.statements.families.command import SparkCommand
from dbt.adapters.vcs.statements.parser import read, split
from dbt.adapters.vcs.statements.syntax.excerpts import excerpt
from dbt.adapters.vcs.statements.syntax.lexer import tokenize
from dbt.adapters.vcs.statements.syntax.query import Query
from dbt.adapters.vcs.statements.syntax.scan import QUERY_WORDS

Kind: TypeAlias = Literal["truth", "failures", "by columns"]
"""How a result is read. `truth`: one boolean, good if true. `failures`: the rows that are wrong,
good if there are none. `by columns`: the first if the only column is boolean, else the second."""

FORMS: Final = (
    'one boolean, good while it is true: "select count(*) = 0 from analytics.orders where amount '
    '< 0"; or a query of the wrong rows, good while there are none: "select * from '
    'analytics.orders where amount < 0"'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BisectCondition:
    """What is asked of each commit.

    Attributes:
        label: What the user named: the text, or the test's id.
        text: The query, one statement without a semicolon.
        kind: How its result is read.
    """

    label: str
    text: str
    kind: Kind


def condition_of(text: str) -> BisectCondition:
    """Return the condition that a text is: a query, or an expression that is true or false.

    Raises:
        InputError: It is neither, or more than one statement.
    """
    parts = split(text)
    if len(parts) != 1:
        raise InputError(
            f"Expected one condition in --sql, found {len(parts) or 'no'} statements. Write "
            f"{FORMS}."
        )
    (part,) = parts
    if not isinstance(read(part).statement, Query | SparkCommand):
        raise InputError(
            f"Expected a condition in --sql, found `{excerpt(part)}`, which is no query. "
            f"Write {FORMS}."
        )
    if tokenize(part)[0].word in QUERY_WORDS:
        return BisectCondition(label=part, text=part, kind="by columns")
    # On lines of its own, since the text may end in a comment.
    return BisectCondition(label=part, text=f"select (\n{part}\n) as is_good", kind="truth")
