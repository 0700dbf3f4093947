"""The steps of the demo: each does one thing and returns what it found.

Whoever tells the story (``python -m demo``) and whoever checks it (the test) take the same steps.
"""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml
from prepare_data import DATA, prepare

from dbt.adapters.vcs.api import connect
from demo.shell import Outcome, Say, Shell

PROJECT = Path(__file__).resolve().parents[1]
MAIN = "main"
FEATURE = "feature/demo"
AIRLINE = "B6"

LATER = (
    "models/marts/carrier_delays.sql",
    "{% set late_after_minutes = 15 %}",
    "{% set late_after_minutes = 30 %}",
)
NEW_RATING = (
    "models/marts/route_statistics.sql",
    "    case\n",
    "    case\n        when routes.late_share >= 0.4 then 'avoid'\n",
)
AGREED = (
    "tests/routes_have_an_agreed_rating.sql",
    "('good', 'fair', 'poor')",
    "('good', 'fair', 'poor', 'avoid')",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What a reader of one branch sees.

    Attributes:
        flights: rows of ``fct_flights``.
        late: late flights of one airline, in ``carrier_delays``.
        routes: number of routes by rating, in ``route_statistics``.
        overview: the same as ``rating_overview``, built after it, has it.
    """

    flights: int
    late: int
    routes: dict[str, int]
    overview: dict[str, int]


class Demo:
    """A copy of the project, its own repository, and the steps."""

    def __init__(self, folder: Path, say: Say, repository: str | None = None) -> None:
        """Start again in a folder; deletes what an earlier demo left there.

        Args:
            folder: where everything comes to lie.
            say: told what happens, line by line.
            repository: another location of the repository, such as a bucket.
        """
        shutil.rmtree(folder, ignore_errors=True)
        self.project = folder / "project"
        self.repository = repository or str(folder / "warehouse")
        self._storage: Mapping[str, str] = {}
        self._spark: Mapping[str, str] = {}
        leave_out = shutil.ignore_patterns(
            *("cluster", "demo", "interop"),
            *("data", "target", "logs", "warehouse", "__pycache__", ".*"),
        )
        shutil.copytree(PROJECT, self.project, ignore=leave_out)
        prepare(DATA)
        shutil.copytree(DATA, self.project / "data")
        self.shell = Shell(folder=self.project, repository=self.repository, say=say)

    def set_up(
        self, storage: Mapping[str, str], spark: Mapping[str, str], *, method: str = "session"
    ) -> None:
        """Write storage options, Spark settings and method into each target of the profile."""
        self._storage, self._spark = storage, spark
        path = self.project / "profiles.yml"
        profiles = yaml.safe_load((PROJECT / "profiles.yml").read_text(encoding="utf-8"))
        for target in profiles["flights"]["outputs"].values():
            target["method"] = method
            target["storage_options"] = dict(storage)
            target["spark_config"] = {**target["spark_config"], **spark}
        path.write_text(yaml.safe_dump(profiles), encoding="utf-8")

    def build_main(self) -> Outcome:
        """Build everything on ``main``."""
        return self.shell.dbt("build", "--target", "prod")

    def change_on_a_branch(self) -> Outcome:
        """Change a model, and build only that model on a branch that this run creates."""
        self._edit(*LATER)
        return self.shell.dbt("build", "--target", "dev", "--select", "carrier_delays+")

    def fail_a_test(self) -> Outcome:
        """Change another model in a way that a test forbids; the build fails."""
        self._edit(*NEW_RATING)
        selected = ("--select", "route_statistics+")
        return self.shell.dbt("build", "--target", "dev", *selected, expect=1)

    def list_runs(self) -> Outcome:
        """List the runs that left a branch behind."""
        return self.shell.vcs("runs", "list")

    def mend_and_retry(self) -> Outcome:
        """Accept the new rating in the test; resume where the failed run stopped."""
        self._edit(*AGREED)
        return self.shell.dbt("retry", "--target", "dev")

    def merge(self) -> Outcome:
        """Merge the branch into ``main``."""
        return self.shell.vcs("merge", FEATURE, MAIN)

    def verify(self) -> Outcome:
        """Compute all of ``main`` again; what differs from what is remembered is an error."""
        return self.shell.dbt("build", "--target", "prod", "--vars", "{vcs_reuse: verify}")

    def log(self, branch: str) -> Outcome:
        """Show a branch's history."""
        return self.shell.vcs("log", branch)

    def contents(self, branch: str) -> Contents:
        """Read one branch, as a notebook would."""
        opened = connect(
            self.repository,
            branch=branch,
            schema="analytics",
            spark=self._spark or None,
            storage_options=self._storage,
        )
        with opened:

            def number(sql: str) -> int:
                return opened.sql(sql).column(0)[0].as_py()

            def by_rating(sql: str) -> dict[str, int]:
                return {row["rating"]: row["routes"] for row in opened.sql(sql).to_pylist()}

            return Contents(
                flights=number("select count(*) from fct_flights"),
                late=number(
                    f"select late_flights from carrier_delays where carrier = '{AIRLINE}'"
                ),
                routes=by_rating(
                    "select rating, count(*) as routes from route_statistics group by rating"
                ),
                overview=by_rating(
                    "select rating, sum(routes) as routes from rating_overview group by rating"
                ),
            )

    def _edit(self, path: str, old: str, new: str) -> None:
        file = self.project / path
        text = file.read_text(encoding="utf-8")
        if text.count(old) != 1:
            raise ValueError(
                f"{path} was to hold {old!r} once, and holds it {text.count(old)} times"
            )
        file.write_text(text.replace(old, new), encoding="utf-8")
        self.shell.say(f"  edit {path}:")
        for sign, lines in (("-", old), ("+", new)):
            for line in lines.strip("\n").splitlines():
                self.shell.say(f"    {sign} {line.strip()}")
