from pathlib import Path

import pytest

from dbt.adapters.vcs.changes.merges.conflicts.policy import Mode, Policy
from dbt.adapters.vcs.changes.merges.project_rules import (
    CatalogTarget,
    ExportRule,
    Rules,
    read_rules,
)
from dbt.adapters.vcs.core.branches import Protection
from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.model import RelationName
from tests.unit.warehouse import Warehouse

ORDERS = RelationName("shop", "orders")
FULL = """
on_conflict: skip
relations:
  Shop.Orders: {on_conflict: accept}
branches:
  main: {protected: true, require: [tests]}
  "release/*": {protected: true}
  dev: {protected: false}
"""


def rules_of(folder: Path, text: str) -> Rules:
    (folder / "vcs.yml").write_text(text, encoding="utf-8")
    return read_rules(folder)


def test_a_project_without_the_file_asks_nothing(tmp_path: Path) -> None:
    assert read_rules(tmp_path) == Rules()


def test_an_empty_file_asks_nothing(tmp_path: Path) -> None:
    assert rules_of(tmp_path, "# nothing yet\n") == Rules()


def test_modes_and_protections_are_read(tmp_path: Path) -> None:
    rules = rules_of(tmp_path, FULL)
    assert rules.policy == Policy(default=Mode.SKIP, relations={ORDERS: Mode.ACCEPT})
    assert rules.protection_of("main") == Protection(("tests",))
    assert rules.protection_of("release/1.2") == Protection()
    assert rules.protection_of("dev") is None
    assert rules.protection_of("feature") is None


def test_exported_branches_are_named_by_pattern(tmp_path: Path) -> None:
    rules = rules_of(tmp_path, "export: {main: iceberg, 'release/*': iceberg}")
    assert rules.export_of("main") == ExportRule(pattern="main")
    assert rules.export_of("release/1") == ExportRule(pattern="release/*")
    assert rules.export_of("dev") is None


def test_an_exported_branch_may_name_a_catalog(tmp_path: Path) -> None:
    rules = rules_of(tmp_path, "export: {main: {catalog: lake}}")
    assert rules.exports[0].catalog == CatalogTarget(name="lake")
    text = (
        "export: {'*': {format: iceberg, format_version: 3, "
        "catalog: {name: lake, type: sql, echo: true, namespace: 'vcs.{branch}_{schema}'}}}"
    )
    (rule,) = rules_of(tmp_path, text).exports
    assert rule.catalog is not None and rule.format_version == 3
    assert rule.catalog.properties == {"type": "sql", "echo": "true"}
    assert rule.catalog.namespace_of("feature/tax", "shop") == ("vcs", "feature_tax_shop")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("on_conflict: theirs", "one of fail, skip, accept, cell, cell_skip, cell_accept"),
        ("on_conflicts: fail", "'on_conflicts'"),
        ("relations: {orders: {on_conflict: skip}}", "expected schema.table"),
        ("relations: {shop.orders: {mode: skip}}", "'mode'"),
        ("relations: {shop.orders: skip}", "expected names with values"),
        ("branches: {main: {protected: 'yes'}}", "expected true or false"),
        ("branches: {main: {protected: true, require: [luck]}}", "out of: tests"),
        ("branches: {main: {require: [tests]}}", "without protected: true"),
        ("branches: [main]", "expected names with values"),
        ("export: {main: delta}", "expected iceberg"),
        ("export: main", "expected names with values"),
        ("export: {main: {catalogue: lake}}", "'catalogue'"),
        ("export: {main: {format_version: 1}}", "expected 2 or 3"),
        ("export: {main: {catalog: {uri: 'http://lake'}}}", "expected letters"),
        ("export: {main: {catalog: {name: lake, namespace: all}}}", "a text with {schema}"),
        ("export: {'*': {catalog: lake}}", "Add {branch} to its namespace"),
        ("export: {main: {catalog: {name: lake, token: t}}}", "PYICEBERG_CATALOG__LAKE__TOKEN"),
        ("export: {main: {catalog: {name: a, s3.secret-access-key: t}}}", "A__S3__SECRET_ACCESS"),
        ("a: [", "not valid YAML"),
    ],
)
def test_what_is_not_understood_is_refused(tmp_path: Path, text: str, found: str) -> None:
    with pytest.raises(InputError, match=found):
        rules_of(tmp_path, text)


def test_a_rule_binds_every_writer(tmp_path: Path, warehouse: Warehouse) -> None:
    rules_of(tmp_path, FULL).apply(warehouse.repository, "main", author="ann")
    assert warehouse.repository.branch("main").protection == Protection(("tests",))


def test_a_rule_takes_no_protection_away(tmp_path: Path, warehouse: Warehouse) -> None:
    warehouse.repository.protect("main", Protection(), author="ann")
    read_rules(tmp_path).apply(warehouse.repository, "main", author="ann")
    assert warehouse.repository.branch("main").protection == Protection()


def test_the_nearest_word_counts() -> None:
    policy = Policy(relations={ORDERS: Mode.ACCEPT}, default=Mode.SKIP)
    assert policy.mode_of(ORDERS) is Mode.ACCEPT
    assert policy.mode_of(RelationName("shop", "other")) is Mode.SKIP
    assert Policy(override=Mode.CELL, relations={ORDERS: Mode.ACCEPT}).mode_of(ORDERS) is Mode.CELL
