from dataclasses import replace

from dbt.adapters.vcs.core.model import Field, Tombstone
from dbt.adapters.vcs.engines.spark.mounting import Layout, layouts
from dbt.adapters.vcs.engines.version_mounts import TableMount
from dbt.adapters.vcs.rows.partition_values import partition_folders, partition_values


def mount(*files: str, ids: tuple[str, ...] = ("a", "p")) -> TableMount:
    fields = tuple(Field(id=id, name=id, type="string") for id in ids)
    return TableMount(id="m", folder="data/t", files=files, fields=fields)


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
    stone = Tombstone(path="data/t/w=y/d", bytes=1, targets={"data/t/w=x/g": 1})
    groups = layouts(replace(version, tombstones=(stone,)))
    assert groups == {
        Layout("", (), 3, False): ["data/t/w=x/f"],
        Layout("", (), 3, True): ["data/t/w=x/g"],
    }
