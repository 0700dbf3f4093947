"""Functions of a group: in Python, as a class that accumulates."""

import pytest
from dbt.tests.adapter.functions import test_udafs as suite


class TestBasicPythonUDAF(suite.BasicPythonUDAF):
    pass


@pytest.mark.skip(reason="Spark's SQL functions can't aggregate; Python functions can")
class TestBasicSQLUDAF(suite.BasicSQLUDAF):
    pass


class TestPythonUDAFDefaultArgSupport(suite.PythonUDAFDefaultArgSupport):
    pass
