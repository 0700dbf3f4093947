"""The projects that `reuse.py` builds, each with two targets."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import flights_project
import generated_project
import given_project
from projects import SCHEMA, Copy, plain_output, settings_of_vcs, vcs_output, write_profile
from sameness import require_same_rows

KINDS = ("vcs", "vcs, reuse: false", "plain")
PROD, DEV = "prod", "dev"
LEAF, ROOT = "one leaf changed", "one root changed"


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
        variables: Of dbt, in all builds.
        edits: Of a model that nothing reads (`LEAF`) and of one that much reads (`ROOT`); none
            if nobody knows the models.
        copy: Makes a copy in a folder for one of the kinds, with the targets `prod` and `dev`.
        check: Fails unless the `prod` of a plain copy and of another one hold the same rows.
    """

    name: str
    title: str
    variables: Mapping[str, object]
    edits: Mapping[str, Edit]
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
            require_same_rows(name, rows, found[name])

    return Subject(
        name="reuse_integration",
        title="the integration project",
        variables={"loaded_until": "2013-12-31"},
        edits={
            LEAF: Edit(
                path="models/marts/rating_overview.sql",
                old="sum(flights) as flights",
                new="sum(flights) + 1 as flights",
            ),
            ROOT: Edit(
                path="models/staging/stg_weather.sql",
                old="visib as visibility_miles",
                new="visib + 1 as visibility_miles",
            ),
        },
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
        require_same_rows("All models", expected, generated_project.vcs_rows(vcs, names))

    return Subject(
        name="reuse_generated",
        title=f"{models:,} generated models",
        variables={"loaded_until": generated_project.AGAIN},
        edits={
            LEAF: Edit(path=f"models/{leaf}.sql", old=old, new=new),
            ROOT: Edit(path=f"models/{names[0]}.sql", old=old, new=new),
        },
        copy=copy,
        check=check,
    )


def given(
    project: Path,
    variables: Mapping[str, object],
    prepare: Sequence[str],
    ignore: Collection[str],
) -> Subject:
    """Return a project of somebody's, in a folder.

    Args:
        project: The folder.
        variables: Of dbt, in all builds.
        prepare: Arguments of dbt for what comes before the first build of a copy.
        ignore: Columns that may differ, as `<relation>.<column>`.
    """
    named = given_project.names_of(project)

    def copy(folder: Path, kind: str) -> Copy:
        given_project.copy_project(project, folder)
        write_profile(folder, named.profile, _outputs(kind))
        given_project.prepare(folder, prepare)
        return Copy(folder=folder, target=PROD)

    return Subject(
        name=f"reuse_{named.project}",
        title=f"the project {named.project}",
        variables=variables,
        edits={},
        copy=copy,
        check=lambda plain, vcs: given_project.check(plain, vcs, ignore),
    )


def _outputs(kind: str) -> dict[str, object]:
    """Return outputs: under vcs `dev` is a branch, under plain dbt-spark another schema."""
    if kind == "plain":
        prod = plain_output(settings_of_vcs())
        return {PROD: prod, DEV: {**prod, "schema": f"{SCHEMA}_dev"}}
    return {PROD: vcs_output(), DEV: {**vcs_output(), "branch": "dev"}}
