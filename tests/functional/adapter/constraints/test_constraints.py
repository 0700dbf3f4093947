"""Contracts: NOT NULL, primary keys and checks are enforced, others cause a warning."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from dbt.tests.adapter.constraints import fixtures
from dbt.tests.adapter.constraints.test_constraints import (
    BaseConstraintQuotedColumn,
    BaseConstraintsRollback,
    BaseConstraintsRuntimeDdlEnforcement,
    BaseIncrementalConstraintsColumnsEqual,
    BaseIncrementalConstraintsRollback,
    BaseIncrementalConstraintsRuntimeDdlEnforcement,
    BaseIncrementalContractSqlHeader,
    BaseIncrementalForeignKeyConstraint,
    BaseModelConstraintsRuntimeEnforcement,
    BaseTableConstraintsColumnsEqual,
    BaseTableContractSqlHeader,
    BaseViewConstraintsColumnsEqual,
)
from dbt.tests.util import run_dbt

MODEL = "{}.my_model_contract_sql_header"
PROPERTIES = "('primary_key' = 'id', {} = '(id > 0)', {} = 'id >= 1')"
CREATED = """
create table <model_identifier>
tblproperties {properties}
as select id, color, date_day from (
    -- depends_on: <foreign_key_model_identifier>
    select 'blue' as color, 1 as id, '2019-01-01' as date_day
) as model_subq
"""


class SparkTypes:
    """Spark calls text string."""

    words: Mapping[str, str] = {"data_type: text": "data_type: string"}

    @pytest.fixture(scope="class")
    def project(self, project):
        for path in Path(project.project_root, "models").iterdir():
            text = path.read_text()
            for postgres, spark in self.words.items():
                text = text.replace(postgres, spark)
            path.write_text(text)
        return project


class ColumnsEqual(SparkTypes):
    @pytest.fixture
    def string_type(self):
        return "string"

    @pytest.fixture
    def int_type(self):
        return "int"

    @pytest.fixture
    def data_types(self):
        values = {
            "1": "int",
            "'1'": "string",
            "true": "boolean",
            "1.5": "decimal(2,1)",
            "1.5d": "double",
            "date'2013-11-03'": "date",
            "timestamp'2013-11-03 00:00:00-07'": "timestamp",
            "timestamp_ntz'2013-11-03 00:00:00'": "timestamp_ntz",
            "array('a', 'b', 'c')": "array<string>",
            "array(1, 2, 3)": "array<int>",
            "map('a', 1)": "map<string,int>",
            "named_struct('bar', 'baz', 'sum', 7.7)": "struct<bar:string,sum:decimal(2,1)>",
        }
        return [[value, type_, type_] for value, type_ in values.items()]


class TestTableConstraintsColumnsEqual(ColumnsEqual, BaseTableConstraintsColumnsEqual):
    pass


class TestViewConstraintsColumnsEqual(ColumnsEqual, BaseViewConstraintsColumnsEqual):
    pass


class TestIncrementalConstraintsColumnsEqual(ColumnsEqual, BaseIncrementalConstraintsColumnsEqual):
    pass


class ByColumn(SparkTypes):
    """The contract goes into the statement as properties; NOT NULL follows in one of its own."""

    @pytest.fixture(scope="class")
    def expected_sql(self):
        checks = PROPERTIES.format("'vcs.check.id_check'", "'vcs.check.id_check_2'")
        return CREATED.format(properties=checks)


class TestTableConstraintsRuntimeDdlEnforcement(ByColumn, BaseConstraintsRuntimeDdlEnforcement):
    pass


class TestIncrementalConstraintsRuntimeDdlEnforcement(
    ByColumn, BaseIncrementalConstraintsRuntimeDdlEnforcement
):
    pass


class TestModelConstraintsRuntimeEnforcement(SparkTypes, BaseModelConstraintsRuntimeEnforcement):
    @pytest.fixture(scope="class")
    def expected_sql(self):
        # The suite takes every word with the model's name in it for the name.
        checks = PROPERTIES.format("<model_identifier>", "<model_identifier>")
        return CREATED.format(properties=checks)


class TestConstraintQuotedColumn(SparkTypes, BaseConstraintQuotedColumn):
    words: Mapping[str, str] = {**SparkTypes.words, '"from"': "`from`"}

    @pytest.fixture(scope="class")
    def expected_sql(self):
        return r"""
create table <model_identifier>
tblproperties <model_identifier> = '(`from` = \'blue\')')
as select id, `from`, date_day from (
    select 'blue' as `from`, 1 as id, '2019-01-01' as date_day
) as model_subq
"""


class TestTableConstraintsRollback(SparkTypes, BaseConstraintsRollback):
    @pytest.fixture(scope="class")
    def expected_error_messages(self):
        return ["NULL in the primary key (id)", "Nothing was changed"]


class TestIncrementalConstraintsRollback(SparkTypes, BaseIncrementalConstraintsRollback):
    @pytest.fixture(scope="class")
    def expected_error_messages(self):
        return ["declared NOT NULL: id (1 NULL)"]


class ChecksRollback(SparkTypes):
    """The same for a row that breaks a check."""

    @pytest.fixture(scope="class")
    def expected_error_messages(self):
        return ["check constraint id_check ((id > 0))", "(id: 0)", "Nothing was changed"]


class TestTableChecksRollback(ChecksRollback, BaseConstraintsRollback):
    @pytest.fixture(scope="class")
    def null_model_sql(self):
        return fixtures.my_model_sql.replace("1 as id", "0 as id")


class TestIncrementalChecksRollback(ChecksRollback, BaseIncrementalConstraintsRollback):
    @pytest.fixture(scope="class")
    def null_model_sql(self):
        return fixtures.my_incremental_model_sql.replace("1 as id", "0 as id")


class SqlHeader(SparkTypes):
    words: Mapping[str, str] = {
        **SparkTypes.words,
        "set session time zone": "set time zone",
        "current_setting('timezone')": "current_timezone()",
    }

    def test_the_header_counts(self, project):
        run_dbt(["run"])
        rows = project.run_sql(f"select * from {MODEL.format(project.test_schema)}", fetch="all")
        assert set(rows) == {("Asia/Kolkata",)}


class TestTableContractSqlHeader(SqlHeader, BaseTableContractSqlHeader):
    pass


class TestIncrementalContractSqlHeader(SqlHeader, BaseIncrementalContractSqlHeader):
    pass


class TestIncrementalForeignKeyConstraint(BaseIncrementalForeignKeyConstraint):
    pass
