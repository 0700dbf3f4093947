"""What users install: the wheel, the sdist and the editable install all bring the macros."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from dbt.include.vcs import PACKAGE_PATH, STARTER_PROJECT
from tests.functional.life.shop import make_shop

CHECKOUT = Path(__file__).parents[2]
INCLUDED = "dbt/include/vcs"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the sdist."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--directory", str(folder)],
        cwd=CHECKOUT,
        check=True,
        capture_output=True,
    )
    return folder


def macros_of(names: list[str], root: str) -> set[str]:
    return {
        name.removeprefix(root)
        for name in names
        if name.startswith(f"{root}macros/") and name.endswith(".sql")
    }


def tracked_macros() -> set[str]:
    return {str(path.relative_to(CHECKOUT)) for path in (CHECKOUT / "macros").rglob("*.sql")}


def compiled(project: Path, path: str | None) -> str:
    """Compile a model that calls one of our macros, with the package found first on a path."""
    shop = make_shop(project, {"models/m.sql": 'select {{ vcs_text_literal("it\'s") }} as x'})
    environment = {**os.environ, "PYTHONPATH": path or ""}
    found = subprocess.run(
        [
            *(sys.executable, "-c"),
            "import dbt.include.vcs as i; print(i.PACKAGE_PATH);"
            "from dbt.cli.main import cli; cli()",
            *("compile", "--project-dir", str(project), "--profiles-dir", str(project)),
        ],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stdout + found.stderr
    assert found.stdout.startswith(f"{path}/{INCLUDED}" if path else str(CHECKOUT))
    return (shop.root / "target/compiled/shop/models/m.sql").read_text()


def test_the_wheel_finds_its_macros(built: Path, tmp_path: Path) -> None:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        archive.extractall(tmp_path / "site")

    assert macros_of(names, f"{INCLUDED}/") == tracked_macros()
    assert f"{INCLUDED}/profile_template.yml" in names
    starter = {str(path.relative_to(CHECKOUT)) for path in STARTER_PROJECT.rglob("*.*")}
    assert len(starter) == 6 and starter <= set(names)
    assert "dbt/__init__.py" not in names
    assert not [name for name in names if name.startswith(("tests", "benchmarks"))]
    assert compiled(tmp_path / "project", str(tmp_path / "site")) == "select 'it\\'s' as x"


def test_the_editable_install_finds_its_macros(tmp_path: Path) -> None:
    assert Path(PACKAGE_PATH) == CHECKOUT
    assert compiled(tmp_path, None) == "select 'it\\'s' as x"


def test_the_sdist_builds_the_same_wheel(built: Path, tmp_path: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "--directory", str(tmp_path)],
        cwd=source,
        check=True,
        capture_output=True,
    )

    (again,), (wheel,) = tmp_path.glob("*.whl"), built.glob("*.whl")
    with zipfile.ZipFile(again) as one, zipfile.ZipFile(wheel) as other:
        assert sorted(one.namelist()) == sorted(other.namelist())


def test_dbt_init_asks_for_what_a_profile_needs() -> None:
    import yaml

    template = yaml.safe_load((Path(PACKAGE_PATH) / "profile_template.yml").read_text())
    assert template["fixed"] == {"type": "vcs", "method": "session"}
    assert set(template["prompts"]) == {"repository", "branch", "schema", "threads"}
