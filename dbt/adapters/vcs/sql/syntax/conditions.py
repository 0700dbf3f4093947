"""Conditions: checked, put after a relation of ours, and what they say about a column."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal, NamedTuple, TypeAlias

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.sql.syntax.canonical import moment_in
from dbt.adapters.vcs.sql.syntax.cursor import TokenCursor, read_expression
from dbt.adapters.vcs.sql.syntax.lexer import Kind, Slice, Token, decode, tokenize
from dbt.adapters.vcs.sql.syntax.names import Name, is_name, qualifiers_of


def where_clause(condition: str) -> str:
    """Return a `where` clause that is safe after any relation, whatever its condition.

    Spark parses `t where (flag)` as a relation with the alias `where` and a list of columns,
    and a comment at the end of the condition would hide what follows. Only an expression is
    valid in the parentheses: no `limit`, no `union`.
    """
    return f"where true and ({condition}\n)"


def check_condition(text: str, what: str) -> None:
    """Check that a text is one expression.

    Args:
        text: A condition from a string, which no reader of statements has checked.
        what: Its name in errors, such as "`where` of snapshot_diff".

    Raises:
        InputError: It is empty, or closes a parenthesis that it hasn't opened.
    """
    tokens = tokenize(text)
    cursor = TokenCursor(text, tokens)
    try:
        read_expression(cursor, lambda: False)
        cursor.end()
        if any(token.word == ";" for token in tokens):
            raise InputError("A condition has no semicolon. Leave it out.")
    except InputError as error:
        raise InputError(f"{what} is not one condition: {text!r}. {error}") from error


Operator: TypeAlias = Literal["=", "<=>", "<", "<=", ">", ">=", "in", "is null", "is not null"]


ConstantKind: TypeAlias = Literal["string", "number", "boolean", "date", "timestamp"]


class Constant(NamedTuple):
    """A literal.

    Attributes:
        kind: Its type; a date or timestamp needs its keyword, otherwise it is a string.
        value: Its text: a string's content, a number with its sign, `true` or `false`.
    """

    kind: ConstantKind
    value: str


class Comparison(NamedTuple):
    """`column operator constant`.

    Attributes:
        column: A column of the table, as written, unquoted.
        values: One constant, several with `in`, none with `is [not] null`.
    """

    column: str
    operator: Operator
    values: tuple[Constant, ...] = ()


class KeyPair(NamedTuple):
    """`target.column = expression`.

    Attributes:
        column: A column of the merge's target, as written, unquoted.
        source_sql: An expression over only the source's columns and constants, as written.
    """

    column: str
    source_sql: str


# `1 < c` means `c > 1`.
_FLIPPED: Final[dict[str, Operator]] = {
    "=": "=", "<=>": "<=>", "<": ">", "<=": ">=", ">": "<", ">=": "<=",
}  # fmt: skip


# The type that a keyword before a string literal gives it.
_TYPE_OF_LITERAL: Final[dict[tuple[str, ...], ConstantKind]] = {
    (): "string", ("date",): "date", ("timestamp",): "timestamp",
}  # fmt: skip


_NUMBER: Final = re.compile(r"\d+(\.\d*)?\Z|\.\d+\Z")


# Unquoted, these are part of a condition and never a column.
_WORDS: Final = frozenset({"and", "or", "not", "null", "true", "false", "case", "between", "in"})


def comparisons_of(
    text: str, where: Slice | None, name: Name, alias: str | None
) -> tuple[Comparison, ...]:
    """Return comparisons that hold for each row that meets the condition, in any session."""
    if where is None:
        return ()
    qualifiers = qualifiers_of(name, alias)
    found: list[Comparison] = []
    for term in _terms(tokenize(text[where.start : where.end])[:-1]):
        # Blocks are left out because of these comparisons, and a session's settings aren't known
        # here.
        if not any(map(_depends_on_settings, term)):
            found += comparisons_in(term, qualifiers)
    return tuple(found)


def key_pairs_of(
    condition: str, name: Name, alias: str | None, source: str | None
) -> tuple[KeyPair, ...]:
    """Return equalities of a qualified target column with an expression of the source."""
    if source is None:
        return ()
    qualifiers = qualifiers_of(name, alias)
    found: list[KeyPair] = []
    for term in _terms(tokenize(condition)[:-1]):
        operator = split_at_operator(term)
        if operator is None or operator.word != "=":
            continue
        for one, other in (
            (operator.left, operator.right),
            (operator.right, operator.left),
        ):
            # An unqualified name may be a column of the source.
            column = column_of(one, qualifiers) if len(one) > 1 else None
            if column is not None and _is_of(other, source):
                sql = condition[other[0].start : other[-1].end]
                # The source's keys are computed apart from the merge, when a clock shows more.
                if moment_in(sql) is None:
                    found.append(KeyPair(column, sql))
    return tuple(found)


def _terms(tokens: Sequence[Token]) -> list[Sequence[Token]]:
    """Return the terms joined by `and`, without parentheses; empty if there is an `or`."""
    tokens = bare(tokens)
    # Under an `or`, no single term holds for every row.
    if len(split_at_top(tokens, "or")) > 1:
        return []
    terms = split_at_top(tokens, "and")
    if len(terms) == 1:
        return terms
    return [inner for term in terms for inner in _terms(term)]


def split_at_top(tokens: Sequence[Token], word: Literal["and", "or"]) -> list[Sequence[Token]]:
    """Return the parts between a word outside of parentheses and `case ... end`.

    The `and` of `between ... and ...` doesn't count.
    """
    parts: list[Sequence[Token]] = []
    first = depth = cases = 0
    between = False
    for index, token in enumerate(tokens):
        depth += {"(": 1, ")": -1}.get(token.word, 0)
        cases += {"case": 1, "end": -1}.get(token.word, 0)
        if depth or cases:
            continue
        if token.word == "between":
            between = True
        elif token.word == "and" and between:
            between = False
        elif token.word == word:
            parts.append(tokens[first:index])
            first = index + 1
    return [*parts, tokens[first:]]


def bare(tokens: Sequence[Token]) -> Sequence[Token]:
    """Return tokens without enclosing parentheses."""
    while len(tokens) > 2 and tokens[0].word == "(" and tokens[-1].word == ")":
        depth = 0
        for token in tokens[:-1]:
            depth += {"(": 1, ")": -1}.get(token.word, 0)
            if depth == 0:
                # In `(a) and (b)` the first parenthesis is not closed by the last.
                return tokens
        tokens = tokens[1:-1]
    return tokens


class Compared(NamedTuple):
    """The two sides of a comparison, and its operator; `!=` stands for `<>`, too."""

    left: Sequence[Token]
    word: str
    right: Sequence[Token]


def split_at_operator(term: Sequence[Token]) -> Compared | None:
    """Return the sides of the one comparison in a term."""
    depth, places = 0, []
    for index, token in enumerate(term):
        depth += {"(": 1, ")": -1}.get(token.word, 0)
        # A symbol is one character, so `<=` is two tokens. Names and texts in quotes have an
        # empty word, which is part of any text.
        if depth == 0 and token.word and token.word in "<=>!":
            places.append(index)
    # Symbols that aren't neighbours are two comparisons, `a = b = c`.
    if not places or places[-1] - places[0] != len(places) - 1:
        return None
    word = "".join(term[place].word for place in places)
    word = {"==": "=", "<>": "!="}.get(word, word)
    left, right = bare(term[: places[0]]), bare(term[places[-1] + 1 :])
    if word not in (*_FLIPPED, "!=") or not left or not right:
        return None
    return Compared(left, word, right)


def comparisons_in(
    term: Sequence[Token], qualifiers: frozenset[tuple[str, ...]] = frozenset()
) -> list[Comparison]:
    """Return the comparisons that a term is, all of which hold; none if it is another term."""
    compared = split_at_operator(term)
    if compared is not None:
        left, word, right = compared
        if word == "!=":
            return []
        # Flipped twice it is what it was, but typed as an operator.
        operator: Operator = _FLIPPED[_FLIPPED[word]]
        column, constant = column_of(left, qualifiers), _constant(right)
        if column is None:
            column, constant = column_of(right, qualifiers), _constant(left)
            operator = _FLIPPED[word]
        if column is None or constant is None:
            return []
        return [Comparison(column, operator, (constant,))]
    words = [token.word for token in term]
    for place, word in enumerate(words):
        column = column_of(term[:place], qualifiers) if word in ("is", "in", "between") else None
        if column is not None:
            return _special(column, words[place:], term[place:])
    return []


def _special(column: str, words: Sequence[str], term: Sequence[Token]) -> list[Comparison]:
    """Return the comparisons of `is [not] null`, `in (...)` or `between ... and ...`."""
    if words == ["is", "null"]:
        return [Comparison(column, "is null")]
    if words == ["is", "not", "null"]:
        return [Comparison(column, "is not null")]
    if words[0] == "between" and words.count("and") == 1:
        middle = words.index("and")
        low, high = _constant(term[1:middle]), _constant(term[middle + 1 :])
        if low is not None and high is not None:
            return [Comparison(column, ">=", (low,)), Comparison(column, "<=", (high,))]
    if words[0] == "in" and words[1:2] == ["("] and words[-1] == ")":
        values = _constants(term[2:-1])
        if values is not None:
            return [Comparison(column, "in", values)]
    return []


def _constants(tokens: Sequence[Token]) -> tuple[Constant, ...] | None:
    values: list[Constant] = []
    first = 0
    for index in [*(n for n, token in enumerate(tokens) if token.word == ","), len(tokens)]:
        value = _constant(tokens[first:index])
        if value is None:
            return None
        values.append(value)
        first = index + 1
    return tuple(values)


def column_of(
    tokens: Sequence[Token], qualifiers: frozenset[tuple[str, ...]] = frozenset()
) -> str | None:
    """Return the column if an expression is a plain column, else None."""
    tokens = bare(tokens)
    names = tokens[::2]
    dotted = all(token.word == "." for token in tokens[1::2])
    if not (len(tokens) % 2 and dotted and all(map(is_name, names))):
        return None
    *before, column = names
    if before:
        known = tuple(token.text.lower() for token in before) in qualifiers
        return column.text if known else None
    if column.kind is Kind.WORD and (column.word in _WORDS or column.word[0].isdigit()):
        return None
    return column.text


def _depends_on_settings(token: Token) -> bool:
    """Return whether a setting of the session changes what Spark takes a string literal for."""
    # `ansi.doubleQuotedIdentifiers` makes names of those in double quotes,
    # `parser.escapedStringLiterals` makes `\n` two characters, and
    # `legacy.consecutiveStringLiterals.enabled` drops the doubled quotes inside.
    if token.kind is not Kind.STRING or token.text[0] in "rR$":
        return False
    return token.text[0] == '"' or "\\" in token.text or "'" in token.text[1:-1]


def _constant(tokens: Sequence[Token]) -> Constant | None:
    """Return the literal if an expression is one, else None."""
    tokens = bare(tokens)
    if not tokens:
        return None
    last = tokens[-1]
    if last.kind is Kind.STRING:
        type_ = _TYPE_OF_LITERAL.get(tuple(token.word for token in tokens[:-1]))
        return Constant(type_, decode(last.text)) if type_ is not None else None
    if len(tokens) == 1 and last.word in ("true", "false"):
        return Constant("boolean", last.word)
    return _number(tokens)


def _number(tokens: Sequence[Token]) -> Constant | None:
    """Return the number, with or without a sign, if tokens are one, else None."""
    sign = tokens[0].word if tokens[0].word in ("-", "+") else ""
    number = tokens[1:] if sign else tokens
    # A number's sign and point are tokens of their own: `1.5` is three, and `1 .5` is no number.
    joined = all(one.end == two.start for one, two in pairwise(number))
    text = "".join(token.text for token in number)
    if not joined or not _NUMBER.match(text) or any(t.kind is Kind.QUOTED for t in number):
        return None
    return Constant("number", f"-{text}" if sign == "-" else text)


def _is_of(tokens: Sequence[Token], source: str) -> bool:
    """Return whether an expression has only columns qualified by a name, and constants."""
    qualified = False
    for index, token in enumerate(tokens):
        before = tokens[index - 1].word if index else ""
        behind = tokens[index + 1].word if index + 1 < len(tokens) else ""
        if not is_name(token) or before == ".":
            continue
        if token.kind is Kind.WORD and (token.word[0].isdigit() or behind == "("):
            # A subquery may name columns of other relations.
            if token.word in ("select", "exists", "in", "any", "all"):
                return False
            continue
        if token.text.lower() != source.lower() or behind != ".":
            return False
        qualified = True
    return qualified


_NEGATED = ("in", "between", "like")


@dataclass(frozen=True)
class Negation:
    """The opposite of a condition; NULL stays NULL."""

    of: ConditionTree


@dataclass(frozen=True)
class Junction:
    """Conditions joined by `and` or `or`, in SQL's logic of three values."""

    word: Literal["and", "or"]
    parts: tuple[ConditionTree, ...]


@dataclass(frozen=True)
class LikePattern:
    """`column like 'pattern'`."""

    column: str
    pattern: str


ConditionTree: TypeAlias = "Comparison | LikePattern | Negation | Junction"


def condition_tree(condition: str) -> ConditionTree | None:
    """Take a condition apart; return None if a part of it is none of these.

    `and`, `or`, `not`, parentheses; comparisons of a column with constants, `[not] in`,
    `[not] between`, `is [not] null`; `[not] like` without `escape`; a column of booleans.
    """
    return _tree(tokenize(condition)[:-1])


def _tree(tokens: Sequence[Token]) -> ConditionTree | None:
    tokens = bare(tokens)
    if not tokens:
        return None
    # `or` binds less than `and`, so it is looked for first.
    words: tuple[Literal["or"], Literal["and"]] = ("or", "and")
    for word in words:
        parts = split_at_top(tokens, word)
        if len(parts) > 1:
            return _joined(word, parts)
    if tokens[0].word in ("not", "!") and tokens[1:2] and tokens[1].word != "=":
        part = _tree(tokens[1:])
        return None if part is None else Negation(part)
    return _predicate(tokens)


def _joined(word: Literal["and", "or"], parts: Sequence[Sequence[Token]]) -> ConditionTree | None:
    found = tuple(map(_tree, parts))
    known = tuple(part for part in found if part is not None)
    return Junction(word, known) if len(known) == len(found) else None


def _predicate(tokens: Sequence[Token]) -> ConditionTree | None:
    found = comparisons_in(tokens)
    if found:
        return found[0] if len(found) == 1 else Junction("and", tuple(found))
    compared = split_at_operator(tokens)
    if compared is not None:
        if compared.word != "!=":
            return None
        # `a != 1` is read as `not a = 1`, so that both have one meaning in all that follows.
        equal = comparisons_in([*compared.left, _EQUAL, *compared.right])
        return Negation(equal[0]) if equal else None
    for place, token in enumerate(tokens):
        if token.word == "not" and tokens[place + 1 :] and tokens[place + 1].word in _NEGATED:
            part = _predicate([*tokens[:place], *tokens[place + 1 :]])
            return None if part is None else Negation(part)
        if token.word == "like":
            return _like(tokens[:place], tokens[place + 1 :])
    column = column_of(tokens)
    return None if column is None else Comparison(column, "=", (Constant("boolean", "true"),))


_EQUAL = tokenize("=")[0]


def _like(left: Sequence[Token], right: Sequence[Token]) -> LikePattern | None:
    column = column_of(left)
    if column is None or len(right) != 1 or right[0].kind is not Kind.STRING:
        return None
    return LikePattern(column, decode(right[0].text))
