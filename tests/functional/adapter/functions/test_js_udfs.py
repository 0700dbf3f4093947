"""Functions in JavaScript, for which Spark has no engine."""

import pytest
from dbt.tests.adapter.functions import test_js_udfs as suite

pytestmark = pytest.mark.skip(reason="Spark doesn't support functions in JavaScript")


class TestBasicJSUDF(suite.BasicJSUDF):
    pass


class TestJSUDFMultiLineBody(suite.JSUDFMultiLineBody):
    pass


class TestJSUDFDeterministicVolatility(suite.JSUDFDeterministicVolatility):
    pass


class TestJSUDFNonDeterministicVolatility(suite.JSUDFNonDeterministicVolatility):
    pass


class TestJSUDFStableVolatilityWarns(suite.JSUDFStableVolatilityWarns):
    pass


class TestJSUDFDefaultArgSupport(suite.JSUDFDefaultArgSupport):
    pass


class TestBasicJSAggregateUDF(suite.BasicJSAggregateUDF):
    pass


class TestJSAggregateUDFVolatilityIgnored(suite.JSAggregateUDFVolatilityIgnored):
    pass
