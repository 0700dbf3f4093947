"""Show one change step by step: ``python -m demo`` in the project folder."""

import sys
from pathlib import Path

from demo.shell import UnexpectedExit
from demo.steps import AIRLINE, FEATURE, MAIN, Contents, Demo

FOLDER = Path(__file__).resolve().parents[2] / ".demo"


def main() -> int:
    """Run all steps; 1 if one failed."""
    try:
        tell(Demo(FOLDER, say))
    except UnexpectedExit as error:
        say(f"\nThe demo failed: {error}")
        return 1
    return 0


def tell(demo: Demo) -> None:
    """Run each step and print what it shows."""
    heading("1. Build everything on main")
    demo.build_main()

    heading(f"2. Change a model, and build it on {FEATURE}, which doesn't exist yet")
    demo.change_on_a_branch()

    heading("3. The branch shows every table, though only one was built; main did not move")
    show(demo, MAIN, FEATURE)

    heading("4. Change another model; a test fails, so nothing is published")
    demo.fail_a_test()
    show(demo, FEATURE)
    say("\nWhat the failed run built is kept on its own branch:")
    demo.list_runs()

    heading("5. Fix the test, and let dbt retry resume from what the failed run has built")
    demo.mend_and_retry()
    show(demo, MAIN, FEATURE)

    heading(f"6. Merge {FEATURE} into main: every table at once, without copying data")
    demo.merge()
    show(demo, MAIN)
    demo.log(MAIN)
    say(f"\nEverything is in {FOLDER.name}/: the project, and the repository in warehouse/.")


def show(demo: Demo, *branches: str) -> None:
    """Read branches and show them side by side."""
    say("\n>>> connect(repository, branch=...).sql(...)")
    found = {branch: demo.contents(branch) for branch in branches}
    say(f"  {'':34}" + "".join(f"{branch:>16}" for branch in found))
    for label, value in ROWS.items():
        say(f"  {label:34}" + "".join(f"{value(content):>16,}" for content in found.values()))


def rated(rating: str, contents: Contents) -> int:
    """Count the routes with a rating."""
    return contents.routes.get(rating, 0)


ROWS = {
    "flights": lambda contents: contents.flights,
    f"late flights of {AIRLINE} (JetBlue)": lambda contents: contents.late,
    "routes rated 'poor'": lambda contents: rated("poor", contents),
    "routes rated 'avoid'": lambda contents: rated("avoid", contents),
}


def heading(text: str) -> None:
    """Start a step."""
    say(f"\n{'=' * 100}\n{text}\n{'=' * 100}")


def say(line: str) -> None:
    """Print one line immediately."""
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
