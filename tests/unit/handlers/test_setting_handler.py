"""Settings of tables: what they can't be is refused where it is said, not where it is read."""

from __future__ import annotations

import msgspec
import pytest

from dbt.adapters.vcs.changes.writes.stage_write import write_mode
from dbt.adapters.vcs.core.errors import InputError
from tests.unit.shelf import Shelf

SETTINGS = {
    "vcs.write_mode": "merge_on_read",
    "vcs.enforce_primary_key": "false",
    "vcs.rebuild": "delta",
    "vcs.on_conflict": "cell",
    "vcs.auto_optimize": "true",
}


@pytest.mark.parametrize(("key", "value"), SETTINGS.items())
def test_a_setting_has_one_of_its_values_in_any_case(key: str, value: str) -> None:
    shelf = Shelf()
    shelf.run(f"create table t (id int) tblproperties ('{key}' = ' {value.upper()}')")
    assert shelf.snapshot("t").properties == {key: value}
    for text in (
        f"create table other (id int) tblproperties ('{key}' = 'fast')",
        f"alter table t set tblproperties ('x' = 'y', '{key}' = 'fast')",
    ):
        with pytest.raises(InputError, match=rf"property {key} is 'fast'; expected one of .*\w"):
            shelf.run(text)
    assert shelf.snapshot("t").properties == {key: value}
    shelf.run(f"alter table t unset tblproperties ('{key}')")
    assert shelf.snapshot("t").properties == {}


def test_other_properties_are_anything() -> None:
    shelf = Shelf()
    shelf.run("create table t (id int) tblproperties ('owner' = 'Ann', 'vcs.note' = 'Fast')")
    assert shelf.snapshot("t").properties == {"owner": "Ann", "vcs.note": "Fast"}


def test_a_write_mode_of_another_writer_is_named_before_rows_change() -> None:
    shelf = Shelf()
    shelf.run("create table t (id int)")
    version = msgspec.structs.replace(shelf.snapshot("t"), properties={"vcs.write_mode": "fast"})
    with pytest.raises(InputError, match="'fast'; expected one of auto, merge_on_read"):
        write_mode(version)
