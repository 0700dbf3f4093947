"""Functions of one row: in SQL and in Python, their defaults, their volatility."""

import pytest
from dbt.events.types import JinjaLogWarning
from dbt.tests.adapter.functions import test_udfs as suite
from dbt.tests.util import run_dbt
from dbt_common.events.event_catcher import EventCatcher


class TestUDFsBasic(suite.UDFsBasic):
    pass


class TestDeterministicUDF(suite.DeterministicUDF):
    def check_function_volatility(self, sql: str) -> None:
        assert "DETERMINISTIC" in sql
        assert "NOT DETERMINISTIC" not in sql


class TestStableUDF(suite.StableUDF):
    """Spark has no functions that are stable only within a statement."""

    def check_function_volatility(self, sql: str) -> None:
        assert "STABLE" not in sql
        assert "DETERMINISTIC" not in sql

    def test_udfs(self, project, sql_event_catcher) -> None:
        warnings = EventCatcher(JinjaLogWarning)
        run_dbt(["build"], callbacks=[warnings.catch])
        assert "Found `stable` volatility" in warnings.caught_events[0].data.msg
        super().test_udfs(project, sql_event_catcher)


class TestNonDeterministicUDF(suite.NonDeterministicUDF):
    def check_function_volatility(self, sql: str) -> None:
        assert "NOT DETERMINISTIC" in sql


class TestErrorForUnsupportedType(suite.ErrorForUnsupportedType):
    pass


class TestPythonUDFSupported(suite.PythonUDFSupported):
    pass


@pytest.mark.skip(reason="for adapters without Python functions, which dbt-vcs supports")
class TestPythonUDFNotSupported(suite.PythonUDFNotSupported):
    pass


class TestPythonUDFRuntimeVersionRequired(suite.PythonUDFRuntimeVersionRequired):
    pass


class TestPythonUDFEntryPointRequired(suite.PythonUDFEntryPointRequired):
    pass


class TestSqlUDFDefaultArgSupport(suite.SqlUDFDefaultArgSupport):
    expect_default_arg_support = True


class TestPythonUDFDefaultArgSupport(suite.PythonUDFDefaultArgSupport):
    expect_default_arg_support = True


class TestPythonUDFVolatilitySupport(suite.PythonUDFVolatilitySupport):
    def check_function_volatility(self, sql: str) -> None:
        assert "NOT DETERMINISTIC" in sql


class TestCanFindScalarFunctionRelation(suite.CanFindScalarFunctionRelation):
    pass


class TestPythonUDFWithPackagesSupported(suite.PythonUDFWithPackagesSupported):
    pass
