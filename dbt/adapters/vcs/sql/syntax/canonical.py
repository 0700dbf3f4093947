"""Canonical text: what of a statement's text its result can depend on.

White space, comments and hints are left out, and the names of relations stand for what they mean,
so that one query in two schemas, or on two branches, has one canonical text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.sql.syntax.lexer import Kind, Token, quote_name, tokenize
from dbt.adapters.vcs.sql.syntax.names import Name, is_name

# White space is left out, but the border of two tokens counts: `a b` is not `ab`.
_BETWEEN: Final = "\x1f"
_MEANT: Final = "\x1e"

_MOMENTS: Final = frozenset(
    {"current_date", "current_time", "current_timestamp", "localtime", "localtimestamp"}
)
_MOMENT_TEXT: Final = re.compile(
    r"""[rR]?(['"])\s*(?:now|today|tomorrow|yesterday)(?:\s+[\w/+:-]+)?\s*\1""", re.IGNORECASE
)
"""Texts that Spark takes for a time where it expects one, `date 'today'`, with a zone or none."""

_CALLED_MOMENTS: Final = frozenset({"curdate", "now", "version"})
# These read the clock only without arguments. With one they convert it.
_WITHOUT_ARGUMENTS: Final = frozenset({"unix_timestamp", "unix_micros", "to_unix_timestamp"})
_USERS: Final = frozenset({"current_user", "session_user", "user"})
_PLACES: Final = frozenset(
    {"current_catalog", "current_database", "current_path", "current_schema"}
)
# Decision 40: what isn't listed is computed each time. So a function of a later Spark costs a
# computation, not wrong rows.
_REPEATABLE_NAMES: Final = """
    abs acos acosh add_months aes_decrypt aggregate any approx_count_distinct array
    array_append array_compact array_contains array_distinct array_except array_insert
    array_intersect array_join array_max array_min array_position array_prepend array_remove
    array_repeat array_size array_sort array_union arrays_overlap arrays_zip ascii asin asinh
    assert_true atan atan2 atanh avg base64 bigint bin binary bit_and bit_count bit_get
    bit_length bit_or bit_xor bitmap_and_agg bitmap_bit_position bitmap_bucket_number
    bitmap_construct_agg bitmap_count bitmap_or_agg bool_and bool_or boolean bround btrim
    cardinality cast cbrt ceil ceiling char char_length character_length chr coalesce collate
    collation concat concat_ws contains conv convert_timezone corr cos cosh cot count count_if
    count_min_sketch covar_pop covar_samp crc32 csc cume_dist date date_add date_diff
    date_format date_from_unix_date date_part date_sub date_trunc dateadd datediff datepart day
    dayname dayofmonth dayofweek dayofyear decimal decode degrees dense_rank double e
    element_at elt encode endswith equal_null every exp explode explode_outer expm1 extract
    factorial filter find_in_set flatten float floor forall format_number format_string
    from_base32 from_csv from_json from_unixtime from_utc_timestamp get get_json_object getbit
    greatest grouping grouping_id hash hex hmac hour hypot if ifnull initcap inline
    inline_outer instr int is_valid_utf8 is_valid_variant is_variant_null isnan isnotnull
    isnull jaro_winkler_similarity json_array_length json_object_keys json_tuple kurtosis lag
    last_day lcase lead least left len length levenshtein ln locate log log10 log1p log2 lower
    lpad ltrim luhn_check make_date make_dt_interval make_interval make_time make_timestamp
    make_timestamp_ltz make_timestamp_ntz make_valid_utf8 make_ym_interval map map_concat
    map_contains_key map_entries map_filter map_from_arrays map_from_entries map_keys
    map_values map_zip_with mask max max_by md5 mean median min min_by minute mod month
    monthname months_between named_struct nanvl negative next_day nth_value ntile nullif
    nullifzero nvl nvl2 octet_length overlay parse_json parse_url percent_rank percentile
    percentile_cont percentile_disc pi pmod posexplode posexplode_outer position positive pow
    power printf quarter quote radians raise_error range rank reduce regexp_count
    regexp_extract regexp_extract_all regexp_instr regexp_like regexp_replace regexp_substr
    regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy
    repeat replace reverse right rint round row_number rpad rtrim schema_of_csv schema_of_json
    schema_of_variant schema_of_variant_agg sec second sentences sequence session_window sha
    sha1 sha2 shiftleft shiftright shiftrightunsigned sign signum sin sinh size skewness slice
    smallint some sort_array soundex space split split_part sqrt stack startswith std stddev
    stddev_pop stddev_samp str_to_map string struct substr substring substring_index sum tan
    tanh time time_bucket time_diff time_from_micros time_from_millis time_from_seconds
    time_to_micros time_to_millis time_to_seconds time_trunc timestamp timestamp_micros
    timestamp_millis timestamp_nanos timestamp_seconds timestampadd timestampdiff tinyint
    to_base32 to_binary to_char to_csv to_date to_json to_number to_time to_timestamp
    to_timestamp_ltz to_timestamp_ntz to_unix_timestamp to_utc_timestamp to_varchar
    to_variant_object to_xml transform transform_keys transform_values translate trim trunc
    try_add try_aes_decrypt try_avg try_cast try_divide try_element_at try_make_interval
    try_make_timestamp try_make_timestamp_ltz try_make_timestamp_ntz try_mod try_multiply
    try_parse_json try_parse_url try_subtract try_sum try_to_binary try_to_date try_to_number
    try_to_time try_to_timestamp try_url_decode try_validate_utf8 try_variant_get typeof ucase
    unbase64 unhex unix_date unix_micros unix_millis unix_nanos unix_seconds unix_timestamp
    upper url_decode url_encode validate_utf8 var_pop var_samp variance variant_explode
    variant_explode_outer variant_get weekday weekofyear width_bucket window window_time xpath
    xpath_boolean xpath_double xpath_float xpath_int xpath_long xpath_number xpath_short
    xpath_string xxhash64 year zeroifnull zip_with
"""
REPEATABLE: Final = frozenset(_REPEATABLE_NAMES.split())
"""Spark's functions that give the same result each time for the same rows, in whichever order the
rows come, and that ask for nothing but their arguments and the session's settings. A function that
isn't named here is taken for one that varies."""

_SYNTAX: Final = """
    all and anti any array as bernoulli between by case character check cluster columns cross
    cube dec default delete distinct distribute div drop else end escape except exists extend
    filter for from full function group having ilike in inner insert intersect interval into is
    join key lateral left like limit map matched minus natural not numeric offset on options or
    order outer over partition partitioned pivot qualify recursive regexp return returns right
    rlike rollup row rows select semi set sets some sort struct table tablesample tblproperties
    then to union unpivot update using values varchar void when where with within
"""
_BEFORE_PARENTHESES: Final = frozenset(_SYNTAX.split())
"""Words that are followed by a parenthesis without being a call."""

_CALLABLE: Final = REPEATABLE | _USERS | _PLACES | {"current_timezone"}
"""What a text may call: what it says about the user and the place is counted."""

_QUERIES: Final = frozenset({"(", "from", "map", "reduce", "select", "table", "values", "with"})
# Which rows these take is left to chance, or to an order that a query needn't have.
_CHOICE: Final = frozenset({"limit", "offset", "tablesample"})
# Spark substitutes `${...}` in a text before it parses it.
_FILLED_IN: Final = re.compile(r"\$\{(?:\w+:)?\S+?\}")
_EXPONENT: Final = re.compile(r"\d+[eE]")


class Meant(NamedTuple):
    """One place of a text where a relation is named.

    Attributes:
        start: Offset of its first character.
        end: Offset after its last character.
        meaning: What the name means: equal meanings give equal rows.
    """

    start: int
    end: int
    name: Name
    meaning: str


def canonical(text: str, places: Mapping[int, Meant]) -> str:
    """Return the canonical text of a statement or a part of one.

    A name keeps its last part, and its schema, only if they are written anywhere else in the text,
    where they could say which column is meant.

    Args:
        places: Where relations are named, by their first offset.

    Raises:
        InputError: The text can't be split into tokens.
    """
    tokens = tokenize(text)[:-1]
    others: set[str] = set()
    end = 0
    for token in tokens:
        # A part of a name that is written elsewhere, too, may say there which column is meant.
        if token.start in places:
            end = places[token.start].end
        if token.start >= end:
            others.add(token.text.lower())
    parts: list[str] = []
    end = 0
    for index, token in enumerate(tokens):
        place = places.get(token.start)
        if place is not None:
            end = place.end
            parts.append(_spelled(place, others))
        elif token.start >= end and _is_glued(tokens, index):
            parts[-1] += _exact(token)
        elif token.start >= end:
            parts.append(_exact(token))
    return _BETWEEN.join(parts)


def without_margins(text: str) -> str:
    """Return a statement without white space and comments around it, such as dbt's own.

    A text that can't be split into tokens is returned as it is.
    """
    try:
        tokens = tokenize(text)
    except InputError:
        return text
    return text[tokens[0].start : tokens[-2].end] if len(tokens) > 1 else text


def asks_for_columns(text: str) -> bool:
    """Return whether a query ends with `limit 0`: it asks for its columns, and has no rows."""
    # In this way dbt asks for the columns of a query.
    words = [token.word for token in tokenize(text)[-3:-1]]
    return words == ["limit", "0"]


def moment_in(text: str) -> str | None:
    """Return a word of a text that depends on when it is carried out; None without any."""
    tokens = tokenize(text)
    for index, token in enumerate(tokens[:-1]):
        called = _called(tokens, index)
        if token.word in _MOMENTS or called in _MOMENTS | _CALLED_MOMENTS:
            return token.text
        if called in _WITHOUT_ARGUMENTS and tokens[index + 2].word == ")":
            return f"{token.text}()"
        if token.kind is Kind.STRING and _MOMENT_TEXT.fullmatch(token.text):
            return token.text
    return None


def variation_in(
    text: str, is_known: Callable[[Name], bool] = lambda _: False, places: Container[int] = ()
) -> str | None:
    """Return what a text calls that may give another result each time; None without any.

    It errs on the safe side: whatever is neither among `REPEATABLE` nor known may vary, and
    `first(c)` gives one result where the rows have an order.

    Args:
        is_known: Returns whether a name is a function of the branch, whose own text counts.
        places: Offsets of the names of relations, which a list of columns may follow.
    """
    tokens = tokenize(text)
    for index, (token, after) in enumerate(pairwise(tokens)):
        # A script of `transform ... using 'script'` is any program.
        if token.word == "using" and after.kind is Kind.STRING:
            return f"using {after.text}"
        if after.word != "(" or not is_name(token):
            continue
        parts = _name_before(tokens, index)
        if _is_harmless_call(tokens, index, parts):
            continue
        name = Name.of(parts)
        # The dots between the parts are tokens as well.
        start = tokens[index - 2 * len(parts) + 2].start
        if start not in places and not (name is not None and is_known(name)):
            return ".".join(parts)
    return None


def choice_in(text: str) -> str | None:
    """Return a word of a text that chooses among rows in any order; None without any."""
    return next((token.text for token in tokenize(text) if token.word in _CHOICE), None)


def filled_in(text: str) -> str | None:
    """Return what Spark replaces in a text by a setting or a variable of its process; or None."""
    found = _FILLED_IN.search(text)
    return None if found is None else found[0]


def names_user(text: str) -> bool:
    """Return whether a text may ask who carries it out; `t.user` is a column."""
    tokens = tokenize(text)
    return any(
        _called(tokens, index) in _USERS
        or (token.word in _USERS and (not index or tokens[index - 1].word not in (".", "as")))
        for index, token in enumerate(tokens[:-1])
    )


def names_place(text: str) -> bool:
    """Return whether a text may ask for the schema of unqualified names."""
    tokens = tokenize(text)
    return any(
        token.word in _PLACES or _called(tokens, index) in _PLACES
        for index, token in enumerate(tokens[:-1])
    )


def _name_before(tokens: Sequence[Token], index: int) -> list[str]:
    """Return the parts, in lower case, of the name whose last part is a token."""
    parts = [tokens[index].text.lower()]
    while index > 1 and tokens[index - 1].word == "." and is_name(tokens[index - 2]):
        index -= 2
        parts.insert(0, tokens[index].text.lower())
    return parts


def _is_harmless_call(tokens: Sequence[Token], index: int, parts: list[str]) -> bool:
    """Return whether what is before a parenthesis always gives the same, or is no call."""
    if len(parts) == 1 and (
        tokens[index].word in _BEFORE_PARENTHESES or _names_columns(tokens, index)
    ):
        return True
    return parts[-1] in _CALLABLE and parts[:-1] in ([], ["builtin"], ["system", "builtin"])


def _names_columns(tokens: Sequence[Token], index: int) -> bool:
    """Return whether a name before a parenthesis is an alias or a common table expression's."""
    # No call follows `as` or a closing parenthesis. `with t (a) as (select` and
    # `select stack(2, 1, 2) as (a, b)` differ only in what follows.
    before = tokens[index - 1].word if index else ""
    if before in ("as", ")"):
        return True
    if before not in ("with", "recursive", ","):
        return False
    depth = 0
    for place in range(index + 1, len(tokens) - 3):
        depth += {"(": 1, ")": -1}.get(tokens[place].word, 0)
        if not depth:
            words = [token.word for token in tokens[place + 1 : place + 4]]
            return words[:2] == ["as", "("] and words[2] in _QUERIES
    return False


def _called(tokens: Sequence[Token], index: int) -> str | None:
    """Return the name before a parenthesis, which may be quoted, in lower case; None elsewhere."""
    token = tokens[index]
    is_name = token.kind in (Kind.WORD, Kind.QUOTED) and tokens[index + 1].word == "("
    return token.text.lower() if is_name else None


def _is_glued(tokens: Sequence[Token], index: int) -> bool:
    """Return whether white space before a token would make one number two tokens."""
    # `1.e3` is a number, `1. e3` is one with a name. `1e-3` is a number, `1e - 3` takes 3 from
    # the column `1e`.
    if index < 1 or tokens[index - 1].end != tokens[index].start:
        return False
    before, token = tokens[index - 1], tokens[index]
    if token.word in ("+", "-"):
        return _EXPONENT.fullmatch(before.word) is not None
    if index < 2 or tokens[index - 2].end != before.start:
        return False
    first = tokens[index - 2].word
    return (before.word == "." and first.isdigit()) or (
        before.word in ("+", "-") and _EXPONENT.fullmatch(first) is not None
    )


def _spelled(place: Meant, others: set[str]) -> str:
    parts = (place.name.schema, place.name.identifier)
    shown = ".".join(part.lower() for part in parts if part and part.lower() in others)
    return f"{_MEANT}{shown}{_MEANT}{place.meaning}"


def _exact(token: Token) -> str:
    if token.kind is Kind.QUOTED:
        # A token has no quotes, and without them a quoted name would be a keyword here.
        return quote_name(token.text)
    return token.text
