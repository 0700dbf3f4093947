"""Which relations a query reads, and where its text names them.

Scoping needs no expression tree. Relations follow `from` and `join` at one level of
parentheses, and commas of the `from` clause. A level is a query, a joined relation, or
arguments and expressions, in which only inner levels matter. So expressions that a parser
doesn't know are no obstacle.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Final, NamedTuple

from dbt.adapters.vcs.sql.syntax.diff_call import DIFF_FUNCTION, DiffReference, read_diff
from dbt.adapters.vcs.sql.syntax.lexer import Kind, Token, padded
from dbt.adapters.vcs.sql.syntax.names import Reference, ends_relation, is_name, read_relation

QUERY_WORDS: Final = frozenset({"select", "with", "from", "values", "table", "map", "reduce"})
"""Words that a query can begin with."""

_SET_OPERATORS: Final = ("union", "intersect", "except", "minus", "setminus")
# fmt: off
_FROM_ENDS: Final = (
    "where", "group", "having", "order", "sort", "cluster", "distribute", "limit", "offset",
    "qualify",
)
# fmt: on
# Their arguments may contain `from`: extract(year from x).
_FROM_FUNCTIONS: Final = frozenset({"extract", "trim", "substr", "substring", "overlay"})

# Functions called by a word that otherwise ends a relation: values left('a', 1), 'b'.
_ROW_FUNCTIONS: Final = frozenset({"left", "right", "map"})


class Expect(Enum):
    """What may come next at a level."""

    QUERY = "query"
    RELATION = "relation"
    OTHER = "other"
    """The rest of a query, after the point where it or a relation could begin."""
    ARGUMENTS = "arguments"
    """Like OTHER, at a level that is not a query: `from` and commas mean nothing."""


class Found(NamedTuple):
    """What a query reads.

    Attributes:
        reads: In the order of the text.
        files: format.`path` of files that it reads directly, sorted.
        diffs: Diffs of versions that it reads, in the order of the text.
    """

    reads: tuple[Reference, ...]
    files: tuple[str, ...]
    diffs: tuple[DiffReference, ...]


class _Part(NamedTuple):
    start: int
    end: int
    expect: Expect
    hidden: frozenset[str]


def scan(tokens: Sequence[Token]) -> Found:
    """Return what a query reads, given its tokens without an `END`.

    Raises:
        InputError: A version of a relation, or a diff, is not valid.
        UnsupportedError: A relation's name or version is computed.
    """
    ended = padded(tokens)
    closing = _closing(tokens)
    todo = [_Part(0, len(tokens), Expect.QUERY, frozenset())]
    reads: list[Reference] = []
    files: set[str] = set()
    diffs: list[DiffReference] = []
    while todo:
        level = _Level(ended, closing, todo.pop())
        level.run()
        todo += level.inner
        reads += level.reads
        files |= level.files
        diffs += level.diffs
    # Levels come off the stack in no order of the text.
    return Found(
        reads=tuple(sorted(reads, key=lambda read: read.start)),
        files=tuple(sorted(files)),
        diffs=tuple(sorted(diffs, key=lambda diff: diff.start)),
    )


def _closing(tokens: Sequence[Token]) -> dict[int, int]:
    closing: dict[int, int] = {}
    open_: list[int] = []
    for index, token in enumerate(tokens):
        if token.kind is Kind.SYMBOL:
            if token.word == "(":
                open_.append(index)
            elif token.word == ")" and open_:
                closing[open_.pop()] = index
    # One that is never closed extends to the end: Spark reports it.
    closing.update((index, len(tokens)) for index in open_)
    return closing


def _begins_number(token: Token) -> bool:
    return token.word[:1].isdigit()


def _ends_row(token: Token) -> bool:
    """Tell whether a row of `values` ends with a token when a name follows it."""
    return token.word == ")" or token.word.isdigit() or token.kind in (Kind.STRING, Kind.QUOTED)


class _Level:
    """A walk over one level of parentheses; inner levels are queued for later."""

    def __init__(self, tokens: Sequence[Token], closing: dict[int, int], part: _Part) -> None:
        self.tokens = tokens
        self.closing = closing
        self.index, self.end, self.expect, self.hidden = part
        self.first = self.index
        self.in_from = self.expect is Expect.RELATION
        self.in_values = False
        self.reads: list[Reference] = []
        self.files: set[str] = set()
        self.diffs: list[DiffReference] = []
        self.inner: list[_Part] = []

    def run(self) -> None:
        tokens, query = self.tokens, self.expect is not Expect.ARGUMENTS
        while self.index < self.end:
            token = tokens[self.index]
            if token.kind is Kind.SYMBOL:
                self._symbol(token)
            elif not query:
                self.index += 1
            elif self.expect is Expect.OTHER:
                self._other(token)
            else:
                self._begin(token)

    def _symbol(self, token: Token) -> None:
        if token.word == "(":
            self._open()
            return
        if self.expect is not Expect.ARGUMENTS:
            self.expect = Expect.OTHER
            # Commas of `values 1, 2` separate rows.
            if token.word == "," and self.in_from and not self.in_values:
                self.expect = Expect.RELATION
            # `|>` ends the `from`: an operator on its rows follows, whose commas are lists.
            elif token.word == "|" and self.tokens[self.index + 1].word == ">":
                self.in_from = False
        self.index += 1

    def _open(self) -> None:
        """Queue a group in parentheses for later, with its kind."""
        start, end = self.index + 1, self.closing[self.index]
        before, first = self.tokens[self.index - 1], self.tokens[start]
        inner = self.expect
        if self.expect in (Expect.OTHER, Expect.ARGUMENTS):
            inner = Expect.ARGUMENTS
            # `table(t)` hands a relation to a table function.
            if before.word == "table" and self.expect is Expect.ARGUMENTS:
                inner = Expect.RELATION
            # A query may be in several parentheses. The inner level finds out.
            elif first.word in QUERY_WORDS or first.word == "(":
                special = self.index > 0 and before.word in _FROM_FUNCTIONS
                inner = Expect.ARGUMENTS if special else Expect.QUERY
        else:
            self.expect = Expect.OTHER
        self.inner.append(_Part(start, end, inner, self.hidden))
        self.index = end + 1

    def _begin(self, token: Token) -> None:
        following = self.tokens[self.index + 1]
        if token.word == "values" and not self._is_called_values(following):
            self.in_values = True
            self._go(Expect.OTHER)
        # Only the first word of a group can begin a query. Behind `from` or a comma, `with` and
        # `select` are names of relations.
        elif self.expect is Expect.RELATION and self.index > self.first:
            self._begin_relation(token, following)
        elif token.word == "with":
            self._common_tables()
        elif token.word == "select":
            self._go(Expect.OTHER, in_from=False)
        elif token.word == "from":
            self._go(Expect.RELATION, in_from=True)
        elif token.word == "table" and (is_name(following) or following.word == "("):
            self._table(following)
        elif self.expect is Expect.QUERY:
            self._go(Expect.OTHER)
        else:
            self._begin_relation(token, following)

    def _is_called_values(self, following: Token) -> bool:
        """Tell whether `values` is a relation's name: no row follows, at most an alias."""
        if self.expect is not Expect.RELATION or following.word in _ROW_FUNCTIONS:
            return False
        behind = self.tokens[self.index + 2]
        if following.word == ".":
            return not _begins_number(behind)
        alias = is_name(following) and following.word != "case" and not _begins_number(following)
        return (
            ends_relation(following) or following.word == "as" or (alias and ends_relation(behind))
        )

    def _begin_relation(self, token: Token, following: Token) -> None:
        modified = is_name(following) and following.word != "as" and not ends_relation(following)
        if token.word == "lateral" and (following.word == "(" or modified):
            self._lateral()
        elif token.word == "stream" and modified:
            self.index += 1
            self._relation()
        elif token.word == "stream" and self._is_stream_of_name():
            self.index += 1
            self._open()
        elif is_name(token):
            self._relation()
        else:
            self._go(Expect.OTHER)

    def _is_stream_of_name(self) -> bool:
        """Tell whether `stream(name)` stands here, which is no call of a function."""
        opening, name, behind = self.tokens[self.index + 1 : self.index + 4]
        return (
            opening.word == "("
            and is_name(name)
            and not _begins_number(name)
            and (behind.word in (".", ")") or name.word == "identifier")
        )

    def _other(self, token: Token) -> None:
        before = self.tokens[self.index - 1] if self.index else None
        word = token.word
        if before is not None:
            # Behind a dot or a colon, which leads into a VARIANT, a keyword is a field.
            if before.word in (".", ":"):
                word = ""
            # A word behind a whole row is an alias or begins a clause: commas separate relations
            # again.
            elif self.in_values and (_ends_row(before) or word == "as"):
                self.in_values = False
        action = _ACTIONS.get(word)
        if action is None:
            self.index += 1
        else:
            action(self)

    def _go(self, expect: Expect, *, in_from: bool | None = None) -> None:
        self.expect = expect
        if in_from is not None:
            self.in_from = in_from
        self.index += 1

    def _from(self) -> None:
        if (
            # `is [not] distinct from` compares.
            self.tokens[self.index - 1].word == "distinct"
            and self.tokens[self.index - 2].word in ("is", "not")
        ) or self._is_called_from():
            self.index += 1
        else:
            self.in_values = False
            self._go(Expect.RELATION, in_from=True)

    def _is_called_from(self) -> bool:
        """Tell whether `from` is a column's name or alias: no relation follows."""
        following = self.tokens[self.index + 1]
        return following.kind is Kind.END or following.word in ("from", ",", ")")

    def _join(self) -> None:
        if self.tokens[self.index + 1].word == "from" and not self.in_from:
            self.index += 1  # a column
            return
        self.in_values = False
        self._go(Expect.RELATION)

    def _end_from(self) -> None:
        self.in_values = False
        self._go(Expect.OTHER, in_from=False)

    def _window(self) -> None:
        if self.tokens[self.index + 1].word == "(":
            self.index += 1  # a function
        else:
            self._end_from()

    def _when(self) -> None:
        """End the source of a merge: `when [not] matched`."""
        following = self.tokens[self.index + 1 : self.index + 3]
        if following[0].word == "matched" or [t.word for t in following] == ["not", "matched"]:
            self._end_from()
        else:
            self.index += 1

    def _set_operator(self) -> None:
        following = self.tokens[self.index + 1]
        if self.tokens[self.index - 1].word == "*" or not (
            following.word == "(" or following.word in QUERY_WORDS | {"all", "distinct"}
        ):
            self.index += 1  # select * except (a), or a name
            return
        self.in_values = False
        if following.word in ("all", "distinct"):
            self.index += 1
        self._go(Expect.QUERY, in_from=False)

    def _lateral(self) -> None:
        # `lateral view explode(a) t as x, y`: commas separate columns from here on.
        if self.tokens[self.index + 1].word == "view":
            self._end_from()
        else:
            self.index += 1

    def _table(self, following: Token) -> None:
        self.index += 1
        if following.word == "(":
            self.expect = Expect.RELATION
            self._open()
        else:
            self._relation(alias_allowed=False)

    def _relation(self, *, alias_allowed: bool = True) -> None:
        if self.index == self.first and self.tokens[self.index - 2].word in ("table", "stream"):
            alias_allowed = False  # table(t), the argument of a table function; stream(t)
        self.expect = Expect.OTHER
        if (
            self.tokens[self.index].word == DIFF_FUNCTION
            and self.tokens[self.index + 1].word == "("
        ):
            diff, self.index = read_diff(self.tokens, self.index)
            self.diffs.append(diff)
            return
        reference, file, self.index = read_relation(
            self.tokens, self.index, self.closing, self.hidden, alias_allowed=alias_allowed
        )
        if reference is not None:
            self.reads.append(reference)
        if file is not None:
            self.files.add(file)

    def _common_tables(self) -> None:
        """Take `with a as (...), b as (...)`: each sees the previous ones, the rest sees all."""
        tokens, index = self.tokens, self.index + 1
        recursive = tokens[index].word == "recursive" and is_name(tokens[index + 1])
        index += recursive
        self.expect = Expect.QUERY
        while is_name(tokens[index]):
            name = tokens[index].text.lower()
            body = self._common_table_body(index + 1)
            # A text that is cut short is Spark's to refuse.
            if body not in self.closing:
                break
            seen = self.hidden | {name}
            end = self.closing[body]
            # A recursive query reads its own rows by its own name.
            hidden = seen if recursive else self.hidden
            self.inner.append(_Part(body + 1, end, Expect.QUERY, hidden))
            self.hidden = seen
            index = end + 1
            if tokens[index].word != ",":
                break
            index += 1
        self.index = index

    def _common_table_body(self, index: int) -> int:
        """Return the index of the parenthesis that opens the query; `index` is after the name."""
        tokens = self.tokens
        if index in self.closing:
            behind = self.closing[index] + 1
            # `as` may be missing. So parentheses behind the name are the columns only if something
            # follows them that leads to a query; otherwise they are the query.
            if tokens[behind].word not in ("as", "max") and behind not in self.closing:
                return index
            index = behind
        if tokens[index].word == "max":
            index += 4  # max recursion level 100
        return index + (tokens[index].word == "as")


_ACTIONS: Final[dict[str, Callable[[_Level], None]]] = {
    "from": _Level._from,
    "join": _Level._join,
    "lateral": _Level._lateral,
    # In Hive's `from s select a, b` the relations come first.
    "select": _Level._end_from,
    "insert": _Level._end_from,
    "when": _Level._when,
    "window": _Level._window,
    **dict.fromkeys(_FROM_ENDS, _Level._end_from),
    **dict.fromkeys(_SET_OPERATORS, _Level._set_operator),
}
