"""Copies of any dbt project, and the rows that a build of one leaves."""

import json
import shlex
import shutil
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import yaml
from projects import Copy, plain_tables, run_python, vcs_tables
from sameness import require_same_rows

_LEFT_OUT = {"target", "logs", "warehouse", "spark-warehouse", "metastore_db", "profiles.yml"}
"""What builds leave in a project's folder; hidden files are left out as well."""

_WITH_ROWS = {"model", "seed", "snapshot"}


class Names(NamedTuple):
    """What a project is called, and its profile."""

    project: str
    profile: str


def names_of(project: Path) -> Names:
    """Read both from a project's ``dbt_project.yml``."""
    file = project / "dbt_project.yml"
    if not file.is_file():
        raise SystemExit(f"{project} has no dbt_project.yml: give the folder of a dbt project.")
    content = yaml.safe_load(file.read_text(encoding="utf-8"))
    if "profile" not in content:
        raise SystemExit(f"{file} has no `profile`: name one there; it need not exist.")
    return Names(project=content["name"], profile=content["profile"])


def copy_project(project: Path, folder: Path) -> None:
    """Copy what is the project's own, with the packages that were installed."""

    def left_out(place: str, names: list[str]) -> Iterable[str]:
        if Path(place) != project:
            return ()
        return [name for name in names if name in _LEFT_OUT or name.startswith(".")]

    shutil.copytree(project, folder, ignore=left_out)


def prepare(folder: Path, commands: Sequence[str]) -> None:
    """Install packages, unless they are there, and run commands of dbt."""
    needs = any((folder / name).exists() for name in ("packages.yml", "dependencies.yml"))
    if needs and not (folder / "dbt_packages").exists():
        commands = ("deps", *commands)
    for command in commands:
        run_python(folder, "-m", "dbt.cli.main", "--quiet", *shlex.split(command))


def check(plain: Copy, vcs: Copy, ignore: Collection[str]) -> None:
    """Fail unless two copies hold the same rows, but for columns that are to be ignored."""
    names = _relations(vcs)
    expected, found = plain_tables(plain, names), vcs_tables(vcs, names)
    for name, rows in expected.items():
        relation = name.partition(".")[2]
        kept = [column for column in rows.column_names if f"{relation}.{column}" not in ignore]
        others = [c for c in found[name].column_names if f"{relation}.{c}" not in ignore]
        require_same_rows(name, rows.select(kept), found[name].select(others))


def _relations(copy: Copy) -> list[str]:
    """Return what the copy's last command of dbt knows to have rows, as ``schema.name``."""
    manifest = json.loads((copy.folder / "target" / "manifest.json").read_text(encoding="utf-8"))
    return [
        f"{node['schema']}.{node['alias']}"
        for node in manifest["nodes"].values()
        if node["resource_type"] in _WITH_ROWS and node["config"]["materialized"] != "ephemeral"
    ]
