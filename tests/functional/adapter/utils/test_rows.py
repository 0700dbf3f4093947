from __future__ import annotations

from dbt.tests.adapter.utils import test_any_value as any_value
from dbt.tests.adapter.utils import test_bool_or as bool_or
from dbt.tests.adapter.utils import test_equals as equals
from dbt.tests.adapter.utils import test_except as except_
from dbt.tests.adapter.utils import test_generate_series as generate_series
from dbt.tests.adapter.utils import test_get_powers_of_two as get_powers_of_two
from dbt.tests.adapter.utils import test_intersect as intersect
from dbt.tests.adapter.utils import test_null_compare as null_compare


class TestAnyValue(any_value.TestAnyValue):
    pass


class TestBoolOr(bool_or.TestBoolOr):
    pass


class TestEquals(equals.TestEquals):
    pass


class TestExcept(except_.TestExcept):
    pass


class TestGenerateSeries(generate_series.TestGenerateSeries):
    pass


class TestGetPowersOfTwo(get_powers_of_two.TestGetPowersOfTwo):
    pass


class TestIntersect(intersect.TestIntersect):
    pass


class TestMixedNullCompare(null_compare.TestMixedNullCompare):
    pass


class TestNullCompare(null_compare.TestNullCompare):
    pass
