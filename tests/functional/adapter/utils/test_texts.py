from __future__ import annotations

import pytest
from dbt.tests.adapter.utils import base_utils
from dbt.tests.adapter.utils import test_concat as concat
from dbt.tests.adapter.utils import test_escape_single_quotes as escape_single_quotes
from dbt.tests.adapter.utils import test_hash as hash_
from dbt.tests.adapter.utils import test_length as length
from dbt.tests.adapter.utils import test_listagg as listagg
from dbt.tests.adapter.utils import test_position as position
from dbt.tests.adapter.utils import test_replace as replace
from dbt.tests.adapter.utils import test_right as right
from dbt.tests.adapter.utils import test_split_part as split_part
from dbt.tests.adapter.utils import test_string_literal as string_literal


class TestConcat(concat.TestConcat):
    pass


class TestEscapeSingleQuotesBackslash(escape_single_quotes.BaseEscapeSingleQuotesBackslash):
    pass


class TestEscapeSingleQuotesQuote(escape_single_quotes.TestEscapeSingleQuotes):
    pass


class TestHash(hash_.TestHash):
    pass


class TestLength(length.TestLength):
    pass


class TestListagg(listagg.TestListagg):
    pass


class TestListaggInOrder(base_utils.BaseUtils):
    """What dbt's own doesn't ask: distinct texts in order, and texts that hold the separator."""

    @pytest.fixture(scope="class")
    def models(self):
        return {
            "listed.sql": """
                {% set by_rank = "order by rank desc" %}
                select
                    {{ listagg('distinct text', "' '", "order by text", 2) }} as first_two,
                    {{ listagg('text', "' '", by_rank) }} as every_one,
                    {{ listagg('text', "','", by_rank, 1) }} as last_one,
                    {{ listagg('nothing', "','", by_rank) }} as no_one
                from values (1, 'b c', null), (2, 'a', null), (3, 'a', null), (4, 'é, 😀', null)
                    as listed (rank, text, nothing)
            """,
            "listed.yml": """
                models:
                  - name: listed
                    data_tests:
                      - assert_equal: {actual: first_two, expected: "'a b c'"}
                      - assert_equal: {actual: every_one, expected: "'é, 😀 a a b c'"}
                      - assert_equal: {actual: last_one, expected: "'é, 😀'"}
                      - assert_equal: {actual: no_one, expected: "null"}
            """,
        }


class TestPosition(position.TestPosition):
    pass


class TestReplace(replace.TestReplace):
    pass


class TestRight(right.TestRight):
    pass


class TestSplitPart(split_part.TestSplitPart):
    pass


class TestStringLiteral(string_literal.TestStringLiteral):
    pass
