from dataclasses import replace

from dbt.adapters.vcs.core.model import Block, Field, Tombstone
from dbt.adapters.vcs.engines.dataframes.mounting import Layout, layouts
from dbt.adapters.vcs.engines.port import TableMount
from dbt.adapters.vcs.table.partition_values import (
    folders_like,
    partition_folder,
    partition_folders,
    partition_values,
)


def mount(*files: str, ids: tuple[str, ...] = ("a", "p")) -> TableMount:
    fields = tuple(Field(id=id, name=id, type="string") for id in ids)
    return TableMount(id="m", folder="data/t", files=files, fields=fields)


def test_new_folders_are_not_called_like_the_column() -> None:
    old, new = "data/t/w=x/p%3D=1%2F2/q=b/f", "data/t/w=y/__vcs_by_p%3D=1%2F2/__vcs_by_q=b/"
    assert partition_folder("p=", "1/2") == "__vcs_by_p%3D=1%2F2"
    assert partition_values(new + "f") == partition_values(old) == {"p=": "1/2", "q": "b"}
    blocks = [Block(path=path, rows=1, bytes=1) for path in (old, new + "f", "data/t/w=x/f")]
    inside = new.removeprefix("data/t/w=y/")
    assert [folders_like(block) for block in blocks] == [inside, inside, ""]


def test_folders_of_other_engines_say_nothing() -> None:
    path = "data/t/w=x1/clients/p=1/q=null/f.parquet"
    assert partition_folders(path) == ("data/t/w=x1", ())
    [layout] = layouts(mount(path))
    assert (layout.base, layout.columns) == ("", ())
    block = Block(path=path, rows=1, bytes=1, partition={"p=": "a/b", "q": None})
    assert folders_like(block) == ("__vcs_by_p%3D=a%2Fb/__vcs_by_q=__HIVE_DEFAULT_PARTITION__/")


def test_values_are_unescaped() -> None:
    path = "data/t/w=x1/par t%3D=a%2Fb%25 =/q=__HIVE_DEFAULT_PARTITION__/f.parquet"
    assert partition_values(path) == {"par t=": "a/b% =", "q": None}


def test_text_beside_escapes_stays() -> None:
    assert partition_values("data/t/w=x/p=ü%+%zz%0A/f") == {"p": "ü%+%zz\n"}


def test_a_path_without_partitions() -> None:
    assert partition_values("data/t/w=x/f.parquet") == {}
    assert partition_folders("data/t/w=x/f.parquet") == ("data/t/w=x", ())


def test_a_column_called_as_the_write_folder() -> None:
    assert partition_folders("data/t/w=x/w=1/f") == ("data/t/w=x", (("w", "1"),))


def test_files_without_partitions_are_one_layout_wherever_they_lie() -> None:
    files = ("data/t/w=x/f", "data/u/w=y/f")
    assert layouts(mount(*files)) == {Layout("", (), 3, False): list(files)}


def test_files_with_partitions_hang_below_the_tables_folder() -> None:
    files = ("data/t/w=x/p=1/f", "data/t/w=y/p=2/f")
    assert layouts(mount(*files)) == {Layout("data/t", ("p",), 4, False): list(files)}


def test_files_of_two_lineages_or_partitionings_are_layouts_of_their_own() -> None:
    groups = layouts(mount("data/t/w=x/p=1/f", "data/u/w=y/p=2/f", "data/t/w=z/f"))
    assert list(groups) == [
        Layout("data/t", ("p",), 4, False),
        Layout("", (), 3, False),
        Layout("data/u", ("p",), 4, False),
    ]


def test_a_column_called_w_is_not_the_write_folder() -> None:
    groups = layouts(mount("data/t/w=x/p=1/f", "data/t/w=y/p=1/f", ids=("a", "W", "p")))
    assert list(groups) == [
        Layout("data/t/w=x", ("p",), 4, False),
        Layout("data/t/w=y", ("p",), 4, False),
    ]


def test_no_files_at_all() -> None:
    assert layouts(mount()) == {}


def test_files_that_tombstones_delete_from_are_a_layout_of_their_own() -> None:
    version = mount("data/t/w=x/f", "data/t/w=x/g")
    tombstone = Tombstone(path="data/t/w=y/d", bytes=1, targets={"data/t/w=x/g": 1})
    groups = layouts(replace(version, tombstones=(tombstone,)))
    assert groups == {
        Layout("", (), 3, False): ["data/t/w=x/f"],
        Layout("", (), 3, True): ["data/t/w=x/g"],
    }
