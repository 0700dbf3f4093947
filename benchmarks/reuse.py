"""Measure builds of which most is computed already: under vcs, without reuse, and plain dbt-spark.

Each side builds its copy of a project from nothing and once more, and then with nothing changed,
on a new branch (plain dbt-spark: in another schema), after a change of one leaf and of one root
(not with --project, whose models nobody knows), and for production after that branch was promoted.
At the end every table in production must hold the same rows on all sides, or the benchmark fails.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Collection, Mapping
from dataclasses import asdict
from pathlib import Path

import yaml
from arguments import whole_number
from costs import Cost, cost_of
from projects import Copy, run_python
from report import Report
from reuse_subjects import DEV, KINDS, LEAF, PROD, ROOT, Subject, generated, given, integration

COMMAND = Path(sys.executable).with_name("dbt-vcs")
PARSE = "dbt parse"
STEPS = {
    "from nothing": PROD,
    "once more": PROD,
    "nothing changed": PROD,
    "new branch": DEV,
    LEAF: DEV,
    ROOT: DEV,
    "production, after promoting": PROD,
}
"""Builds in their order, each with its target."""

BRIEF = ("from nothing", "nothing changed", "production, after promoting")
"""Builds with --brief for those who compute everything each time: the others cost the same."""

Costs = Mapping[str, Mapping[str, Cost]]
"""By kind of copy and by build."""


def main() -> None:
    """Run, check, report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=whole_number, default=500, help="models (default 500)")
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--only", choices=("integration", "generated"), help="one of the projects (default both)"
    )
    which.add_argument(
        "--project", type=Path, help="a folder with a dbt project of yours, instead of both"
    )
    parser.add_argument(
        "--prepare",
        action="append",
        default=[],
        metavar="ARGUMENTS",
        help="of --project: a command of dbt before the first build, such as 'seed'; repeatable",
    )
    parser.add_argument(
        "--vars", type=yaml.safe_load, default={}, help="of --project: variables of all builds"
    )
    parser.add_argument(
        "--ignore",
        nargs="+",
        default=[],
        metavar="RELATION.COLUMN",
        help="of --project: columns that may differ, as numbers that break ties in any order",
    )
    parser.add_argument(
        "--kinds", nargs="+", choices=KINDS, default=KINDS, help="what is compared (default all)"
    )
    parser.add_argument(
        "--brief", action="store_true", help="fewer builds for who computes everything each time"
    )
    options = parser.parse_args()
    steps = {kind: BRIEF if options.brief and kind != "vcs" else STEPS for kind in options.kinds}
    if options.project is not None:
        folder = options.project.expanduser().resolve()
        run(given(folder, options.vars, options.prepare, options.ignore), steps)
        return
    if options.prepare or options.vars or options.ignore:
        parser.error("--prepare, --vars and --ignore need --project")
    if options.only != "generated":
        run(integration(), steps)
    if options.only != "integration":
        run(generated(options.models), steps)


def run(subject: Subject, steps: Mapping[str, Collection[str]]) -> None:
    """Measure one project, with the builds of each kind of copy, and write its report."""
    with tempfile.TemporaryDirectory(prefix="dbt-vcs-bench-") as scratch:
        report = summarize(subject, measure(subject, steps, Path(scratch)))
    report.save()
    print(report.markdown())


def measure(subject: Subject, steps: Mapping[str, Collection[str]], scratch: Path) -> Costs:
    """Go through all builds with a copy of each kind, and compare what they hold."""
    found: dict[str, dict[str, Cost]] = {}
    copies: dict[str, Copy] = {}
    for number, (kind, measured) in enumerate(steps.items()):
        copy = copies[kind] = subject.copy(scratch / str(number), kind)
        found[kind] = {}
        for step, target in steps_of(subject).items():
            before(step, subject, copy, kind, is_built="new branch" in measured)
            if step in measured:
                found[kind][step] = cost = build(subject, copy, kind, target)
                sys.stderr.write(f"{subject.title}, {kind}, {step}: {cost}\n")
        arguments = ["--quiet", "parse", *variables_of(subject, kind)]
        found[kind][PARSE] = cost_of(copy.folder, "-m", "dbt.cli.main", *arguments)
    for kind, copy in copies.items():
        if kind != "plain" and "plain" in copies:
            subject.check(copies["plain"], copy)
    return found


def before(step: str, subject: Subject, copy: Copy, kind: str, *, is_built: bool) -> None:
    """Do what makes a build the one that it is to be; a branch that `is_built` is promoted."""
    if step in subject.edits:
        subject.edits[step].make(copy.folder)
    elif step == "production, after promoting" and kind != "plain" and is_built:
        run_python(copy.folder, str(COMMAND), "-r", str(copy.repository), "promote", "dev", "main")


def build(subject: Subject, copy: Copy, kind: str, target: str) -> Cost:
    """Build for a target; return what it cost."""
    arguments = ["--quiet", "build", "--target", target, *variables_of(subject, kind)]
    return cost_of(copy.folder, "-m", "dbt.cli.main", *arguments)


def variables_of(subject: Subject, kind: str) -> list[str]:
    """Return the arguments that tell dbt the variables."""
    reuse = {"vcs_reuse": False} if kind == "vcs, reuse: false" else {}
    return ["--vars", json.dumps({**subject.variables, **reuse})]


def steps_of(subject: Subject) -> dict[str, str]:
    """Return the builds of a project: those after a change only where there is one."""
    return {
        step: target
        for step, target in STEPS.items()
        if step not in (LEAF, ROOT) or step in subject.edits
    }


def summarize(subject: Subject, found: Costs) -> Report:
    """Put the costs into a table."""
    columns = [c for kind in found for c in (kind, "CPU", "Spark")]
    rows = [
        [step, *[cell for costs in found.values() for cell in _cells(costs.get(step))]]
        for step in (*steps_of(subject), PARSE)
    ]
    return Report(
        name=subject.name,
        title=f"Builds of {subject.title} of which most is known",
        columns=["build", *columns],
        rows=rows,
        notes=[
            "Wall time of the whole process, and CPU time of it and of Spark, one run, 4 threads.",
            "Spark: whether its process was started.",
            "from nothing, once more: incremental models have another text the second time.",
            "reuse: false: with --vars '{vcs_reuse: false}'.",
            "plain: dbt-spark with method session and parquet, with the Spark settings of vcs. "
            "Its new branch is another schema.",
            "after promoting: a build of main once the branch was promoted"
            + (", with both changes." if subject.edits else "."),
            *(
                ["All tables of production hold the same rows on all sides."]
                if "plain" in found and len(found) > 1
                else []
            ),
        ],
        figures={kind: {s: asdict(c) for s, c in costs.items()} for kind, costs in found.items()},
    )


def _cells(cost: Cost | None) -> list[str]:
    if cost is None:
        return ["", "", ""]
    return [f"{cost.wall:.1f} s", f"{cost.cpu:.1f} s", "yes" if cost.started_spark else "no"]


if __name__ == "__main__":
    main()
