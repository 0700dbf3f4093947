"""Exported tables in PyIceberg's SQL catalog."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import (
    NoSuchViewError,
    TableAlreadyExistsError,
    ViewAlreadyExistsError,
)
from pyiceberg.view import View
from pyiceberg.view.metadata import ViewMetadata

from dbt.adapters.vcs.changes.merges.project_rules import CatalogTarget, ExportRule
from dbt.adapters.vcs.core.errors import InputError, StorageError
from dbt.adapters.vcs.iceberg.branch_export import BranchExport, Registration
from dbt.adapters.vcs.iceberg.exports import export, export_after
from tests.unit.iceberg.lake import Lake


class ViewCatalog(SqlCatalog):
    """A catalog with views, which it keeps in this process."""

    views: ClassVar[dict[tuple[str, ...], View]] = {}

    def register_view(self, identifier: Any, metadata_location: str) -> View:
        if identifier in self.views:
            raise ViewAlreadyExistsError(str(identifier))
        text = Path(metadata_location.removeprefix("file://")).read_text()
        view = View(identifier, ViewMetadata.model_validate_json(text))
        self.views[identifier] = view
        return view

    def load_view(self, identifier: Any) -> View:
        if identifier not in self.views:
            raise NoSuchViewError(str(identifier))
        return self.views[identifier]

    def drop_view(self, identifier: Any) -> None:
        self.load_view(identifier)
        del self.views[identifier]


@pytest.fixture
def viewing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ExportRule:
    monkeypatch.setattr(ViewCatalog, "views", {})
    properties = {
        "py-catalog-impl": f"{ViewCatalog.__module__}.ViewCatalog",
        "uri": f"sqlite:///{tmp_path}/views.db",
    }
    return ExportRule(pattern="main", catalog=CatalogTarget(name="lake", properties=properties))


def shown(name: str) -> str:
    """Return the query of a view in the catalog."""
    (told,) = ViewCatalog.views["s", name].metadata.versions[-1].representations
    return str(told.root.sql)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = Lake(tmp_path / "lake")
    lake.run("create table s.t (id bigint)")
    lake.add("t", [(1,)])
    return lake


@pytest.fixture
def rule(tmp_path: Path) -> ExportRule:
    properties = {"type": "sql", "uri": f"sqlite:///{tmp_path}/catalog.db"}
    return ExportRule(pattern="main", catalog=CatalogTarget(name="lake", properties=properties))


@pytest.fixture
def catalog(rule: ExportRule) -> Catalog:
    assert rule.catalog is not None
    return load_catalog("lake", **rule.catalog.properties)


def exported(lake: Lake, rule: ExportRule, **options: Any) -> Registration:
    report: BranchExport = export(lake.repository, "main", rule, **options)
    assert report.registration is not None
    return report.registration


def ids(catalog: Catalog, name: str = "s.t") -> list[int]:
    return sorted(catalog.load_table(name).scan().to_arrow().column("id").to_pylist())


def test_what_a_killed_process_left_out_comes_with_the_next(
    lake: Lake, rule: ExportRule, catalog: Catalog
) -> None:
    exported(lake, rule)
    # So many that the export would forget what the catalog still names.
    for number in range(2, 10):
        lake.add("t", [(number,)])
        export(lake.repository, "main")
    assert ids(catalog) == [1]
    assert exported(lake, rule).registered == ("s.t",)
    assert ids(catalog) == list(range(1, 10))


def test_an_export_between_listing_and_registering_is_seen(
    lake: Lake, rule: ExportRule, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    register, others = SqlCatalog.register_table, []

    def overtaken(self: SqlCatalog, *args: Any, **options: Any) -> Any:
        if not others:
            others.append(1)
            lake.add("t", [(2,)])
            export(lake.repository, "main")
        return register(self, *args, **options)

    monkeypatch.setattr(SqlCatalog, "register_table", overtaken)
    exported(lake, rule)
    assert ids(catalog) == [1, 2]


def test_a_catalog_that_fails_undoes_nothing(
    lake: Lake, rule: ExportRule, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError("the line is cut")

    monkeypatch.setattr(SqlCatalog, "register_table", fail)
    with pytest.raises(StorageError, match="'lake' failed: OSError: the line is cut"):
        exported(lake, rule)
    said: list[str] = []
    export_after(lake.repository, "main", rule, said.append)
    assert "the line is cut" in said[0] and "dbt-vcs export --branch main" in said[0]
    assert "The files of the export are written all the same." in said[0]
    monkeypatch.undo()
    assert exported(lake, rule).registered == ("s.t",)


def test_a_catalog_that_is_not_known_is_an_error_that_says_where_to_set_it(lake: Lake) -> None:
    rule = ExportRule(pattern="main", catalog=CatalogTarget(name="no-lake"))
    with pytest.raises(InputError, match="PYICEBERG_CATALOG__NO_LAKE__"):
        exported(lake, rule)


def test_without_the_package_one_sentence_says_what_to_install(
    lake: Lake, rule: ExportRule, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyiceberg", None)
    with pytest.raises(InputError, match=r"pip install 'dbt-vcs\[catalog\]'"):
        exported(lake, rule)


def test_views_are_registered_where_the_catalog_has_them(lake: Lake, viewing: ExportRule) -> None:
    lake.view("v", "select id from s.t")
    assert exported(lake, viewing).registered == ("s.t", "s.v")
    assert shown("v") == "select id from s.t"
    assert exported(lake, viewing).registered == ()
    lake.view("v", "select id + 1 id from s.t")
    assert exported(lake, viewing).registered == ("s.v",)
    assert shown("v") == "select id + 1 id from s.t"
    lake.run("drop view s.v")
    assert exported(lake, viewing).dropped == ("s.v",)
    assert ViewCatalog.views == {}


def test_a_table_that_becomes_a_view_changes_its_kind(lake: Lake, viewing: ExportRule) -> None:
    exported(lake, viewing)
    lake.view("t", "select 1 id")
    done = exported(lake, viewing)
    assert (done.registered, done.refused) == (("s.t",), {})
    assert viewing.catalog is not None
    assert not load_catalog("lake", **viewing.catalog.properties).table_exists(("s", "t"))
    assert shown("t") == "select 1 id"


def test_a_catalog_without_views_gets_the_tables(lake: Lake, rule: ExportRule) -> None:
    lake.view("v", "select id from s.t")
    report = export(lake.repository, "main", rule)
    assert list(report.views) == ["s.v"] and report.refused == {}
    assert report.registration is not None
    assert (report.registration.registered, report.registration.has_views) == (("s.t",), False)


@pytest.mark.parametrize("is_ours", [False, True])
def test_a_name_that_is_taken_meanwhile_is_looked_at_again(
    lake: Lake, rule: ExportRule, catalog: Catalog, monkeypatch: pytest.MonkeyPatch, is_ours: bool
) -> None:
    register, others = SqlCatalog.register_table, []

    def overtaken(
        self: SqlCatalog, identifier: Any, location: str, *args: Any, **more: Any
    ) -> Any:
        if not others:
            others.append(1)
            if is_ours:
                # Another process exports the same.
                register(self, identifier, location)
            else:
                self.create_table(
                    identifier, pa.schema([("id", pa.int64())]), f"{lake.place.root}/x"
                )
        return register(self, identifier, location, *args, **more)

    monkeypatch.setattr(SqlCatalog, "register_table", overtaken)
    done = exported(lake, rule)
    assert done.registered == (("s.t",) if is_ours else ())
    assert ids(catalog) == ([1] if is_ours else [])


def test_a_name_that_only_a_view_has_is_refused(
    lake: Lake, rule: ExportRule, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    def taken(*_: object, **__: object) -> None:
        raise TableAlreadyExistsError("View with same name already exists: s.t")

    monkeypatch.setattr(SqlCatalog, "register_table", taken)
    done = exported(lake, rule)
    assert "something else of the name s.t" in done.refused["s.t"]


def test_a_namespace_that_the_catalog_refuses_is_told_with_what_names_it(
    lake: Lake, rule: ExportRule, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise ValueError("hierarchical namespaces are not supported")

    monkeypatch.setattr(SqlCatalog, "create_namespace_if_not_exists", refuse)
    with pytest.raises(StorageError, match="needs the namespace s, as vcs"):
        exported(lake, rule)
