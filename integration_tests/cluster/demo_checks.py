"""The demo project built, changed on a branch and merged, with what it must show each time."""

from __future__ import annotations

from collections.abc import Mapping

from demo.steps import AIRLINE, FEATURE, MAIN, Contents, Demo
from source_rows import counted

from .drivers import stop_spark


def check_demo(demo: Demo, spark: Mapping[str, str], *, method: str = "session") -> None:
    """Take the demo's steps with some settings, and compare with a count of the source files."""
    source = counted(AIRLINE)
    demo.set_up({}, spark, method=method)
    on_main = Contents(
        flights=source.flights,
        late=source.late[15],
        routes=source.routes,
        overview=source.routes,
    )
    built = demo.build_main().output
    assert " ERROR=0 SKIP=0 " in built
    assert contents(demo, MAIN) == on_main

    demo.change_on_a_branch()
    assert contents(demo, FEATURE).late == source.late[30]
    assert contents(demo, MAIN) == on_main

    failed = demo.fail_a_test()
    assert failed.code == 1
    assert contents(demo, FEATURE).routes == source.routes
    demo.mend_and_retry()

    demo.merge()
    merged = contents(demo, MAIN)
    assert (merged.flights, merged.late) == (source.flights, source.late[30])
    assert sum(merged.routes.values()) == sum(source.routes.values())
    assert merged.routes == merged.overview and merged.routes["avoid"] > 0
    demo.shell.vcs("fsck", "--data")
    demo.shell.vcs("gc")
    demo.shell.vcs("fsck", "--data")


def contents(demo: Demo, branch: str) -> Contents:
    """Read a branch with Spark, which the next command may need for itself."""
    try:
        return demo.contents(branch)
    finally:
        stop_spark()
