"""Hooks of models, seeds, snapshots and runs."""

import pytest
from dbt.tests.adapter.hooks import test_model_hooks as suite
from dbt.tests.adapter.hooks import test_run_hooks as runs


class OfRepository:
    """The suite's hooks, of a target that has no host, database, user or password."""

    @pytest.fixture(scope="class")
    def project(self, project):
        run_sql = project.run_sql
        # Postgres quotes names as Spark quotes text.
        project.run_sql = lambda sql, fetch=None: run_sql(sql.replace('"', "`"), fetch)
        return project

    def check_hook(self, state, project, hook):
        assert hook["test_state"] == state
        assert hook["target_name"] == "default"
        assert hook["target_schema"] == project.test_schema
        assert hook["target_threads"] == 4
        assert hook["target_type"] == "vcs"
        for name in ("target_dbname", "target_host", "target_user", "target_pass"):
            assert hook[name] == ""
        for name in ("run_started_at", "invocation_id"):
            assert hook[name]
        assert hook["thread_id"].startswith(("Thread-", "MainThread"))


class OfModels(OfRepository):
    def check_hooks(self, state, project, host, count=1):
        for hook in self.get_ctx_vars(state, count, project):
            self.check_hook(state, project, hook)


class ModelHooks(OfModels):
    """What Postgres vacuums is optimized here; both are outside of a transaction."""

    names = ("pre-hook", "post-hook")

    @pytest.fixture(scope="class")
    def project_config_update(self):
        outside = {"sql": "optimize {{ this.schema }}.on_model_hook", "transaction": False}
        before, after = self.names
        return {
            "models": {
                "test": {
                    before: [suite.MODEL_PRE_HOOK, outside],
                    after: [outside, suite.MODEL_POST_HOOK],
                }
            }
        }


class TestPrePostModelHooks(ModelHooks, suite.BasePrePostModelHooks):
    pass


class TestPrePostModelHooksUnderscores(ModelHooks, suite.TestPrePostModelHooksUnderscores):
    names = ("pre_hook", "post_hook")


class TestHookRefs(OfModels, suite.BaseHookRefs):
    pass


class TestPrePostModelHooksInConfig(OfModels, suite.BasePrePostModelHooksInConfig):
    pass


class TestPrePostModelHooksInConfigWithCount(
    ModelHooks, suite.BasePrePostModelHooksInConfigWithCount
):
    pass


class TestPrePostModelHooksInConfigKwargs(OfModels, suite.BasePrePostModelHooksInConfigKwargs):
    pass


class TestDuplicateHooksInConfigs(suite.BaseDuplicateHooksInConfigs):
    pass


class TestPrePostModelHooksOnSeeds(suite.BasePrePostModelHooksOnSeeds):
    pass


class TestHooksRefsOnSeeds(suite.BaseHooksRefsOnSeeds):
    pass


class TestPrePostModelHooksOnSeedsPlusPrefixed(suite.BasePrePostModelHooksOnSeedsPlusPrefixed):
    pass


class TestPrePostModelHooksOnSeedsPlusPrefixedWhitespace(
    suite.BasePrePostModelHooksOnSeedsPlusPrefixedWhitespace
):
    pass


class TestPrePostModelHooksOnSnapshots(suite.BasePrePostModelHooksOnSnapshots):
    pass


class TestPrePostSnapshotHooksInConfigKwargs(suite.BasePrePostSnapshotHooksInConfigKwargs):
    pass


class TestPrePostRunHooks(OfRepository, runs.BasePrePostRunHooks):
    """Spark's text is string, and a relation of its catalog has no database."""

    def check_hooks(self, state, project, host):
        self.check_hook(state, project, self.get_ctx_vars(state, project))

    @pytest.fixture(scope="class")
    def project_config_update(self):
        table = "create table {{ target.schema }}."
        row = "insert into {{ target.schema }}."
        return {
            "on-run-start": [
                "{{ custom_run_hook('start', target, run_started_at, invocation_id) }}",
                table + "start_hook_order_test (id int)",
                "drop table {{ target.schema }}.start_hook_order_test",
                "{{ log(env_var('TERM_TEST'), info=True) }}",
            ],
            "on-run-end": [
                "{{ custom_run_hook('end', target, run_started_at, invocation_id) }}",
                table + "end_hook_order_test (id int)",
                "drop table {{ target.schema }}.end_hook_order_test",
                table + "schemas (schema string)",
                row + "schemas (schema) values {% for schema in schemas %}('{{ schema }}')"
                "{{ ',' if not loop.last }}{% endfor %}",
                table + "db_schemas (db string, schema string)",
                row + "db_schemas (db, schema) values {% for db, schema in database_schemas %}"
                "({{ 'null' if db is none else db }}, '{{ schema }}')"
                "{{ ',' if not loop.last }}{% endfor %}",
            ],
            "seeds": {"quote_columns": False},
        }


class TestAfterRunHooks(runs.BaseAfterRunHooks):
    pass
