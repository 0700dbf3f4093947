"""Canonical texts: equal ones are equal token by token, and no others are."""

from __future__ import annotations

from hypothesis import given, reject
from hypothesis import strategies as st

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.sql.syntax.canonical import canonical
from dbt.adapters.vcs.sql.syntax.lexer import Kind, tokenize

# Pieces that lexers mistake for each other.
PIECES = st.sampled_from(
    [
        *("a", "A", "`a`", "`A`", "`a b`", "`a``b`", "r", "x", "e3", "1e", "1", "1L", "10", "D"),
        *("'a'", "'A'", "''", "'a''b'", "'--'", "'/*'", "'*/'", "r'\\'", "'\\''", '"a"', '"--"'),
        *(
            "$$a$$",
            "$t$'$t$",
            ".",
            ",",
            "(",
            ")",
            "+",
            "-",
            "!",
            "=",
            "<",
            ">",
            "|",
            ":",
            "?",
            "*",
        ),
    ]
)
# A minus in front of a comment's two would be part of it.
SPACES = st.sampled_from(
    [" ", "\n", "\t", " \r\n", " -- c ' \n", "/* c ' */", "/*+ h */", "/* /* */ */"]
)
TEXTS = st.lists(PIECES, min_size=1, max_size=8)


def written(pieces: list[str], spaces: list[str]) -> str:
    """Pieces with something between any two."""
    return "".join(f"{piece}{space}" for piece, space in zip(pieces, spaces, strict=False))


def meant(text: str) -> list[tuple[Kind, str]]:
    """The tokens of a text as pairs: the oracle."""
    return [(token.kind, token.text) for token in tokenize(text)]


@given(TEXTS, st.data())
def test_what_is_between_tokens_counts_for_nothing(pieces: list[str], data: st.DataObject) -> None:
    def text() -> str:
        count = len(pieces)
        return written(pieces, data.draw(st.lists(SPACES, min_size=count, max_size=count)))

    assert canonical(text(), {}) == canonical(text(), {})


@given(TEXTS, TEXTS)
def test_texts_of_other_tokens_are_others(left: list[str], right: list[str]) -> None:
    one, other = written(left, [" "] * 8), written(right, [" "] * 8)
    assert (canonical(one, {}) == canonical(other, {})) == (meant(one) == meant(other))


@given(
    st.lists(
        st.one_of(PIECES, SPACES, st.text(st.characters(exclude_characters="\x1f"), max_size=3)),
        max_size=8,
    ).map("".join)
)
def test_a_canonical_text_has_the_tokens_of_its_text(text: str) -> None:
    try:
        tokens = meant(text)
    except InputError:
        reject()
    assert meant(canonical(text, {}).replace("\x1f", " ")) == tokens
