"""The part of the conformance suite that `make test-all` runs: some classes of every group."""

from __future__ import annotations

from typing import Final

import pytest

PART: Final = {
    "aliases": {"BaseAliases"},
    "basic": {"BaseDocsGenReferences", "BaseIncremental", "BaseSimpleMaterializations"},
    "caching": {"BaseCachingSelectedSchemaOnly"},
    "catalog": {"CatalogRelationTypes"},
    "column_types": {"BasePostgresColumnTypes"},
    "concurrency": {"BaseConcurrency"},
    "constraints": {
        "BaseIncrementalConstraintsRollback",
        "BaseModelConstraintsRuntimeEnforcement",
    },
    "dbt_clone": {"BaseClonePossible"},
    "dbt_debug": {"BaseDebugPostgres"},
    "dbt_show": {"BaseShowLimit"},
    "empty": {"BaseTestEmptySeedFlag"},
    "ephemeral": {"BaseEphemeralMulti"},
    "functions": {"PythonUDFSupported", "SqlUDFDefaultArgSupport"},
    "grants": {"BaseInvalidGrants"},
    "hooks": {"BaseAfterRunHooks", "BasePrePostModelHooksInConfigKwargs"},
    "incremental": {"BaseMergeExcludeColumns"},
    "materialized_view": {"MaterializedViewBasic"},
    "persist_docs": {"BasePersistDocs"},
    "python_model": {"BasePythonIncrementalTests"},
    "query_comment": {"BaseMacroArgsQueryComments"},
    "relations": {"BaseChangeRelationTypeValidator"},
    "sample_mode": {"BaseSampleModeTest"},
    "simple_copy": {"BaseSimpleCopyUppercase"},
    "simple_seed": {"BaseSimpleSeedColumnOverride"},
    "simple_snapshot": {"BaseSnapshotCheck"},
    "store_test_failures_tests": {"StoreTestFailuresAsInteractions"},
    "unit_testing": {"BaseUnitTestingTypes"},
    "utils": {"BaseDateDiff", "BaseListagg", "BaseSafeCast", "BaseTypeNumeric"},
}
"""Classes of dbt-tests-adapter by group; what subclasses them is in the part."""


def is_in_part(item: pytest.Item) -> bool:
    """Return whether `make test-all` runs a test of this folder."""
    node = item.getparent(pytest.Class)
    if node is None:
        return True
    bases = {base.__name__ for base in node.obj.__mro__}
    return not bases.isdisjoint(PART.get(item.path.parent.name, ()))
