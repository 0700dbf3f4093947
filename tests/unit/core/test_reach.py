"""Which locations a statement can't write to, because the repository's files are there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dbt.adapters.vcs.core.store.opening import reaches


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "company" / "ware house"
    (folder / "refs" / "heads").mkdir(parents=True)
    (tmp_path / "company" / "other").mkdir()
    (tmp_path / "link").symlink_to(folder)
    (tmp_path / "deep").symlink_to(folder / "refs" / "heads")
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.mark.parametrize(
    "spelling",
    [
        "{root}",
        "{root}/",
        "{root}/refs/heads",
        "{root}/not/there/yet",
        "file:{root}/refs",
        "file://{root}/refs",
        "FILE:{root}/refs",
        "file://localhost{root}",
        "{quoted}/refs",
        "//{root}/refs",
        "company/ware house/refs",
        "./company",
        "company/other/../ware house/data",
        "link",
        "link/data/new",
        "link/..",
        "deep/x",
        "{parent}",
        "/",
    ],
)
def test_every_spelling_of_a_place_in_a_local_repository_reaches_it(
    repository: Path, spelling: str
) -> None:
    location = spelling.format(
        root=repository, parent=repository.parent, quoted=repository.as_uri()
    )
    assert reaches(location, str(repository))
    assert reaches(location, repository.as_uri())
    assert reaches(location, "link")


@pytest.mark.parametrize(
    "spelling",
    ["{parent}/other", "{root}2", "{root} copy/refs", "other", "s3://ware house/refs", ""],
)
def test_other_places_do_not(repository: Path, spelling: str) -> None:
    location = spelling.format(root=repository, parent=repository.parent)
    assert reaches(location or "elsewhere", str(repository)) is False


def test_a_folder_of_the_repository_on_another_disk_belongs_to_it(tmp_path: Path) -> None:
    disk = tmp_path / "disk" / "data"
    disk.mkdir(parents=True)
    root = tmp_path / "wh"
    root.mkdir()
    (root / "data").symlink_to(disk)
    assert reaches(str(disk / "t"), str(root))
    assert reaches(str(disk.parent), str(root))
    assert not reaches(str(tmp_path / "else"), str(root))


def test_two_names_of_one_folder_are_one_place(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As a bind mount, or a disk that ignores case, would have it.
    other = repository.parent / "other"
    same = os.path.samestat

    def samefile(one: Path, two: Path) -> bool:
        names = {one, two}
        return names == {other, repository} or (
            one.exists() and two.exists() and same(os.stat(one), os.stat(two))
        )

    monkeypatch.setattr(Path, "samefile", samefile)
    assert reaches(str(other / "refs"), str(repository))


@pytest.mark.parametrize(
    ("location", "uri", "expected"),
    [
        ("s3a://b/shop/refs", "s3://b/shop", True),
        ("s3n://b/shop", "s3://b/shop/", True),
        ("S3A://b/shop//x/../refs", "s3a://b/shop", True),
        ("s3a://b/", "s3://b/shop", True),
        ("s3a://b", "s3://b/shop", True),
        ("s3a://b/sh%6fp/refs", "s3://b/shop", True),
        ("s3a://b/shop2", "s3://b/shop", False),
        ("s3a://b/out", "s3://b/shop", False),
        ("s3a://c/shop", "s3://b/shop", False),
        ("gs://b/shop", "s3://b/shop", False),
        ("gs://b/shop/x", "gs://b/shop", True),
        ("/shop", "s3://b/shop", False),
        ("abfss://box@acc.dfs.core.windows.net/a/refs", "az://box/a", True),
        ("abfss://box@acc.dfs.core.windows.net/a", "abfs://box@acc.blob.core/a/b", True),
        ("abfss://box@acc.dfs.core.windows.net/a", "abfs://box@else.blob.core/a/b", False),
        ("wasbs://pot@acc.blob.core.windows.net/a", "az://box/a", False),
    ],
)
def test_places_in_object_stores(location: str, uri: str, expected: bool) -> None:
    assert reaches(location, uri) is expected
