from __future__ import annotations

from dbt.tests.adapter.utils import test_array_append as array_append
from dbt.tests.adapter.utils import test_array_concat as array_concat
from dbt.tests.adapter.utils import test_array_construct as array_construct


class TestArrayAppend(array_append.TestArrayAppend):
    pass


class TestArrayConcat(array_concat.TestArrayConcat):
    pass


class TestArrayConstruct(array_construct.TestArrayConstruct):
    pass
