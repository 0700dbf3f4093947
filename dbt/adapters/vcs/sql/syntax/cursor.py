"""A position in the tokens of one statement, with what every reader needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NoReturn, TypeVar

from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.sql.syntax.lexer import Kind, Slice, Token, decode, padded
from dbt.adapters.vcs.sql.syntax.names import (
    CATALOG,
    At,
    Name,
    Target,
    is_name,
    read_name,
    read_relation,
    read_version,
)

T = TypeVar("T")


def instant() -> str:
    """Return what `timestamp` means where no session says otherwise."""
    return "timestamp"


class ForeignError(Exception):
    """The statement is about another catalog and goes to Spark unchanged."""


class TokenCursor:
    """Reads tokens from left to right.

    Attributes:
        tokens: Its tokens, ending with `END`.
        timestamp: Returns the type that the session means by `timestamp`.
    """

    def __init__(
        self, text: str, tokens: Sequence[Token], timestamp: Callable[[], str] = instant
    ) -> None:
        self.timestamp = timestamp
        self.text = text
        self.tokens = tokens
        self.index = 0
        self._padded = padded(tokens)

    @property
    def token(self) -> Token:
        """The next token."""
        return self.tokens[self.index]

    def ahead(self, by: int = 1) -> Token:
        """Return a token after the next one; `END` beyond the last."""
        return self.tokens[min(self.index + by, len(self.tokens) - 1)]

    @property
    def done(self) -> bool:
        """True at the end of the statement."""
        return self.token.kind is Kind.END

    @property
    def last(self) -> Token:
        """The token that was read last."""
        return self.tokens[self.index - 1]

    def at(self, *words: str) -> bool:
        """Return whether these words come next, in this order."""
        return all(self.ahead(n).word == word for n, word in enumerate(words))

    def take(self, *words: str) -> bool:
        """Read these words if they come next; return whether they did."""
        if not self.at(*words):
            return False
        self.index += len(words)
        return True

    def take_any(self, *words: str) -> str | None:
        """Read the next word if it is one of these, and return it."""
        word = self.token.word
        if word not in words:
            return None
        self.index += 1
        return word

    def expect(self, *words: str) -> None:
        """Read these words, which must come next."""
        if not self.take(*words):
            self.fail(f"`{' '.join(words)}`")

    def expect_symbol(self, text: str) -> None:
        """Read a symbol, which must come next."""
        if not self.take(text):
            self.fail(f"'{text}'")

    def string(self) -> str:
        """Read one or more adjacent string literals, and return their value."""
        # Spark joins literals that follow each other.
        value = self.literal()
        while self.token.kind is Kind.STRING:
            value += self.literal()
        return value

    def literal(self) -> str:
        """Read one string literal, and return its value."""
        if self.token.kind is not Kind.STRING:
            self.fail("a string in quotes")
        self.index += 1
        return decode(self.last.text)

    def identifier(self, what: str = "a name") -> str:
        """Read an identifier of one part."""
        if not is_name(self.token):
            self.fail(what)
        self.index += 1
        return self.last.text

    def column(self) -> str:
        """Read the name of a top-level column, which may be in `identifier('...')`.

        Raises:
            UnsupportedError: It is a field inside a column.
        """
        if self.at("identifier", "("):
            parts, self.index = read_name(self._padded, self.index)
            name = parts[0]
            is_nested = len(parts) > 1
        else:
            name = self.identifier("a column's name")
            is_nested = self.token.word == "."
        if is_nested:
            raise UnsupportedError(
                f"Changing a field inside the column '{name}' is not supported on versioned "
                f"tables. Rebuild the table: create or replace table ... as select ..., "
                f"named_struct(...) as {name}."
            )
        return name

    def parts(self) -> list[str]:
        """Read a name of any number of parts."""
        if not is_name(self.token):
            self.fail("a name")
        parts, self.index = read_name(self._padded, self.index)
        return parts

    def target(self) -> Target:
        """Read the name of the relation that the statement is about.

        Raises:
            ForeignError: It is in another catalog.
        """
        start = self.token.start
        name = Name.of(self.parts())
        if name is None:
            raise ForeignError
        return Target(name=name, start=start, end=self.last.end)

    def versioned_target(self) -> tuple[Target, At | None]:
        """Read a relation and the version asked for.

        Raises:
            ForeignError: It is in another catalog.
        """
        if not is_name(self.token):
            self.fail("the relation to read")
        found = read_relation(self._padded, self.index, {}, alias_allowed=False)
        self.index = found.next
        if found.reference is None:
            raise ForeignError
        read = found.reference
        return Target(name=read.name, start=read.start, end=read.name_end), read.at

    def version(self) -> At:
        """Read `version as of ...`, `timestamp as of ...`, or either in braces."""
        at, behind = read_version(self._padded, self.index)
        if at is None:
            self.fail("`version as of` or `timestamp as of`")
        self.index = behind
        return at

    def relation_parts(self) -> list[str]:
        """Read a relation of any catalog and the version asked for, and return its name."""
        first = self.index
        parts = self.parts()
        # Read a second time to find the end of the version: of another catalog's relation only
        # that is returned.
        self.index = read_relation(self._padded, first, {}, alias_allowed=False).next
        return parts

    def schema(self) -> str:
        """Read the name of a schema.

        Raises:
            ForeignError: It is in another catalog.
        """
        parts = self.parts()
        if len(parts) == 2 and parts[0].lower() == CATALOG:
            return parts[1]
        if len(parts) > 1:
            raise ForeignError
        return parts[0]

    def items(self, read: Callable[[], T]) -> tuple[T, ...]:
        """Read a list in parentheses, separated by commas, with at least one item."""
        self.expect_symbol("(")
        items = self.bare_items(read)
        self.expect_symbol(")")
        return items

    def bare_items(self, read: Callable[[], T]) -> tuple[T, ...]:
        """Read a list without parentheses, separated by commas."""
        items = [read()]
        while self.take(","):
            items.append(read())
        return tuple(items)

    def skip_group(self) -> None:
        """Skip a group in parentheses, which must come next."""
        self.expect_symbol("(")
        depth = 1
        while depth:
            if self.done:
                self.fail("')'")
            if self.token.kind is Kind.SYMBOL:
                depth += {"(": 1, ")": -1}.get(self.token.word, 0)
            self.index += 1

    def sql_until(self, stop: Callable[[], bool]) -> str:
        """Skip an expression, and return its text as written.

        It ends before the statement's end, a comma or a closing parenthesis of an outer group,
        or where `stop` returns true.
        """
        first = self.index
        while not (self.done or stop()):
            if self.token.word == "(":
                self.skip_group()
            elif self.token.word in (",", ")"):
                break
            else:
                self.index += 1
        if first == self.index:
            self.fail("an expression")
        return self.text[self.tokens[first].start : self.last.end]

    def end(self) -> None:
        """Raise if the statement continues."""
        if not self.done:
            self.fail("the statement's end")

    def fail(self, expected: str) -> NoReturn:
        """Raise an error that something else was expected here."""
        token = self.token
        line = self.text.count("\n", 0, token.start) + 1
        found = "the statement's end" if self.done else f"'{self.text[token.start : token.end]}'"
        start = self.tokens[0].start
        raise InputError(
            f"Syntax error. Expected {expected}, found {found} in line {line} of the statement "
            f"that begins {self.text[start : start + 60]!r}. Correct the statement."
        )


# After these words an expression continues: an `end` there is a column, not the end of a `case`.
_GOES_ON: Final = frozenset({"case", "when", "then", "else", "and", "or", "not", "(", ","})
_QUERIES: Final = frozenset({"select", "with", "from", "values", "table"})
# fmt: off
_AFTER_A_COLUMN: Final = frozenset({
    ".", "=", "<", ">", "/", "%", "|", "&", "^", ")", ",", "and", "or", "is", "in", "between",
    "like", "ilike", "rlike", "regexp", "div", "then", "when", "where",
})
_CLAUSES: Final = frozenset({
    "as", "cluster", "cross", "distribute", "except", "from", "full", "group", "having", "inner",
    "intersect", "join", "lateral", "limit", "minus", "natural", "offset", "order", "qualify",
    "returning", "sort", "union", "using", "window",
})
# After these words comes an operand, whatever its name.
BEFORE_AN_OPERAND: Final = _GOES_ON | {
    "is", "in", "between", "like", "ilike", "rlike", "regexp", "div", "escape", "distinct", "from",
    "all", "any", "some",
}
# fmt: on


def read_expression(cursor: TokenCursor, stop: Callable[[], bool]) -> Slice:
    """Skip an expression, and return its place.

    It ends where `stop` returns true (outside of `case ... end`, and not after a dot), before
    a comma, before a word that begins a clause of a query, and before the end of the statement
    or of an outer group. A query without parentheses is not an expression, although it would
    become one in parentheses.
    """
    start, cases = cursor.token.start, 0
    following = cursor.ahead()
    # `from`, `values` and the like may be columns; what follows tells.
    is_column = following.kind is Kind.END or following.word in _AFTER_A_COLUMN
    if cursor.token.word in _QUERIES and not is_column:
        cursor.fail("an expression")

    def stops() -> bool:
        nonlocal cases
        before = cursor.last.word
        if before == ".":
            return False
        if cases == 0 and (stop() or _begins_clause(cursor, start)):
            return True
        if cursor.at("case") and _is_case(cursor.ahead()):
            cases += 1
        elif cursor.at("end") and cases and before not in _GOES_ON:
            cases -= 1
        return False

    cursor.sql_until(stops)
    return Slice(start, cursor.last.end)


def _is_case(following: Token) -> bool:
    """Return whether `case` begins an expression, and isn't a column of that name."""
    return following.kind is not Kind.SYMBOL or following.word == "("


def _begins_clause(cursor: TokenCursor, start: int) -> bool:
    """Return whether a word after an operand can't be part of an expression."""
    if cursor.token.word not in _CLAUSES or cursor.token.start == start:
        return False
    before = cursor.last
    if before.kind is Kind.SYMBOL:
        # Behind an operator comes an operand, so the word is a column.
        return before.word in (")", "]")
    return before.word not in BEFORE_AN_OPERAND
