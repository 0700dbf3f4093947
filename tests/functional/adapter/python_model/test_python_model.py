from __future__ import annotations

import pytest
from dbt.tests.adapter.python_model import test_python_model as python_model
from dbt.tests.adapter.python_model import test_spark as pyspark


class TestPythonModel(python_model.BasePythonModelTests):
    pass


class TestPythonIncremental(python_model.BasePythonIncrementalTests):
    pass


class TestPythonMetaGet(python_model.BasePythonMetaGetTests):
    pass


class TestPythonEmpty(python_model.BasePythonEmptyTests):
    pass


class TestPythonSample(python_model.BasePythonSampleTests):
    pass


class TestPySpark(pyspark.BasePySparkTests):
    @pytest.fixture(scope="class")
    def models(self):
        # Koalas, given up for Spark 3.2, lives on in PySpark under this name.
        koalas = pyspark.KOALAS_MODEL.replace("databricks.koalas", "pyspark.pandas")
        return {
            "pandas_df.py": pyspark.PANDAS_MODEL,
            "pyspark_df.py": pyspark.PYSPARK_MODEL,
            "pandas_on_spark_df.py": pyspark.PANDAS_ON_SPARK_MODEL,
            "koalas_df.py": koalas,
        }
