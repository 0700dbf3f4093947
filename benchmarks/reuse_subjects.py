"""The projects that `reuse.py` builds, each with two targets and two changes."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import flights_project
import generated_project
import pyarrow as pa
from projects import SCHEMA, Copy, plain_output, settings_of_vcs, vcs_output, write_profile

KINDS = ("vcs", "vcs, reuse: false", "plain")
PROD, DEV = "prod", "dev"


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """A change of one model's text that changes its rows.

    Attributes:
        path: The file, in the project's folder.
        old: What is replaced, once.
        new: By what.
    """

    path: str
    old: str
    new: str

    def make(self, folder: Path) -> None:
        """Change the file."""
        file = folder / self.path
        text = file.read_text(encoding="utf-8")
        if self.old not in text:
            raise SystemExit(f"{self.path} has no {self.old!r} to change.")
        file.write_text(text.replace(self.old, self.new, 1), encoding="utf-8")


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A project.

    Attributes:
        name: Of its report.
        title: What it is.
        loaded_until: The project's variable of this name.
        leaf: A change of a model that nothing reads.
        root: A change of a model that much reads.
        copy: Makes a copy in a folder for one of the kinds, with the targets `prod` and `dev`.
        check: Fails unless the `prod` of a plain copy and of another one hold the same rows.
    """

    name: str
    title: str
    loaded_until: str
    leaf: Edit
    root: Edit
    copy: Callable[[Path, str], Copy]
    check: Callable[[Copy, Copy], None]


def integration() -> Subject:
    """Return the integration project."""
    flights_project.fetch_data()

    def copy(folder: Path, kind: str) -> Copy:
        if kind == "plain":
            flights_project.copy_for_plain(folder, settings_of_vcs())
        else:
            flights_project.copy_for_vcs(folder)
        write_profile(folder, "flights", _outputs(kind))
        return Copy(folder=folder, target=PROD)

    def check(plain: Copy, vcs: Copy) -> None:
        expected, found = flights_project.plain_results(plain), flights_project.vcs_results(vcs)
        for name, rows in expected.items():
            _check_same(name, rows, found[name])

    return Subject(
        name="reuse_integration",
        title="the integration project",
        loaded_until="2013-12-31",
        leaf=Edit(
            path="models/marts/rating_overview.sql",
            old="sum(flights) as flights",
            new="sum(flights) + 1 as flights",
        ),
        root=Edit(
            path="models/staging/stg_weather.sql",
            old="visib as visibility_miles",
            new="visib + 1 as visibility_miles",
        ),
        copy=copy,
        check=check,
    )


def generated(models: int) -> Subject:
    """Return a project of so many models, made up."""
    made = list(generated_project.made_up(models))
    names = [model.name for model in made]
    leaf = [model.name for model in made if model.kind == "table"][-1]
    old, new = " as amount", " + 1 as amount"

    def copy(folder: Path, kind: str) -> Copy:
        copy = generated_project.write_project(folder, models, PROD, {})
        write_profile(folder, generated_project.NAME, _outputs(kind))
        return copy

    def check(plain: Copy, vcs: Copy) -> None:
        expected = generated_project.plain_rows(plain, names)
        _check_same("All models", expected, generated_project.vcs_rows(vcs, names))

    return Subject(
        name="reuse_generated",
        title=f"{models:,} generated models",
        loaded_until=generated_project.AGAIN,
        leaf=Edit(path=f"models/{leaf}.sql", old=old, new=new),
        root=Edit(path=f"models/{names[0]}.sql", old=old, new=new),
        copy=copy,
        check=check,
    )


def _outputs(kind: str) -> dict[str, object]:
    """Return outputs: under vcs `dev` is a branch, under plain dbt-spark another schema."""
    if kind == "plain":
        prod = plain_output(settings_of_vcs())
        return {PROD: prod, DEV: {**prod, "schema": f"{SCHEMA}_dev"}}
    return {PROD: vcs_output(), DEV: {**vcs_output(), "branch": "dev"}}


def _check_same(what: str, expected: pa.Table, found: pa.Table) -> None:
    columns = sorted(expected.column_names)
    order = [(column, "ascending") for column in columns]
    one = expected.select(columns).sort_by(order)
    other = found.select(columns).sort_by(order).cast(one.schema)
    if not one.equals(other):
        raise SystemExit(
            f"{what}: the {one.num_rows} rows of plain dbt-spark are not the "
            f"{other.num_rows} rows of vcs"
        )
