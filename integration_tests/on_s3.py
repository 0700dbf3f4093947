"""The demo project on S3, end to end: ``make s3``.

Spark reads and writes ``s3a://``, dbt-vcs lands by put-if-absent, both on a real server of this
machine (``chaos/gateway.py``). What comes out is compared with what the standard library counts
in the package that the data comes from.
"""

import os
import shutil
import sys
import threading
from pathlib import Path

from demo.shell import UnexpectedExit
from demo.steps import AIRLINE, FEATURE, MAIN, Demo
from source_rows import counted

from chaos.gateway import KEY, SECRET, gateway
from dbt.adapters.vcs.api import connect
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.core.store.opening import open_blobs

FOLDER = Path(__file__).resolve().parents[1] / ".s3"
BUCKETS = ("warehouse", "copies")
REPOSITORY = "s3://warehouse/flights"
RACES, WRITERS = 100, 8


def main() -> int:
    """Run all checks; 1 if one failed."""
    served = FOLDER / "served"
    shutil.rmtree(served, ignore_errors=True)
    try:
        with gateway(served, *BUCKETS) as endpoint:
            storage = {
                "aws_endpoint": endpoint,
                "aws_region": "us-east-1",
                "aws_access_key_id": KEY,
                "aws_secret_access_key": SECRET,
                "allow_http": "true",
            }
            # The command takes the repository from the environment, and so the connection too.
            os.environ.update({key.upper(): value for key, value in storage.items()})
            os.environ["AWS_ALLOW_HTTP"] = storage["allow_http"]
            expect_one_winner(storage)
            build_and_merge(Demo(FOLDER / "demo", say, REPOSITORY), storage)
    except (UnexpectedExit, AssertionError) as error:
        say(f"\nFailed: {error}")
        return 1
    say("\nAll as expected.")
    return 0


def expect_one_winner(storage: dict[str, str]) -> None:
    """Let writers create the same object at the same moment."""
    heading(f"{WRITERS} writers create each of {RACES} objects at once: one of them may win")
    blobs = open_blobs("s3://warehouse/races", storage)
    for number in range(RACES):
        path = f"race/{number}"
        winners = raced(blobs, path)
        expect(f"winners of {path}", len(winners), 1, quietly=True)
        expect(path, blobs.get(path), str(winners[0]).encode(), quietly=True)
    say(f"  each of {RACES} races had one winner")


def raced(blobs: Blobs, path: str) -> list[int]:
    """Create an object several times at once, and return who was told to be the first."""
    start, winners = threading.Barrier(WRITERS), []

    def create(writer: int) -> None:
        start.wait()
        if blobs.create(path, str(writer).encode()):
            winners.append(writer)

    threads = [threading.Thread(target=create, args=(each,)) for each in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return winners


def build_and_merge(demo: Demo, storage: dict[str, str]) -> None:
    """Build, branch, merge, check, collect and copy."""
    heading("Without Hadoop's connector, the error names it")
    demo.set_up(storage, {"spark.jars.packages": ""})
    said = demo.shell.dbt("run", "--target", "prod", "--select", "+fct_flights", expect=1)
    expect("named", "org.apache.hadoop:hadoop-aws:" in said.output, True)

    heading("dbt build on s3a://")
    demo.set_up(storage, {})
    demo.build_main()
    source = counted(AIRLINE)
    found = demo.contents(MAIN)
    expect("flights on main", found.flights, source.flights)
    expect(f"late flights of {AIRLINE} on main", found.late, source.late[15])
    expect("routes on main", found.routes, source.routes)

    heading(f"Change a model on {FEATURE}, and merge it")
    demo.change_on_a_branch()
    expect("late flights on the branch", demo.contents(FEATURE).late, source.late[30])
    expect("late flights on main", demo.contents(MAIN).late, source.late[15])
    demo.merge()
    expect("late flights on main", demo.contents(MAIN).late, source.late[30])

    heading("Check every byte, collect, and copy to another bucket")
    demo.shell.vcs("fsck", "--data")
    demo.shell.vcs("gc")
    demo.shell.vcs("copy", REPOSITORY, "s3://copies/flights")
    with connect("s3://copies/flights", storage_options=storage) as copy:
        rows = copy.sql("select count(*) from fct_flights").column(0)[0].as_py()
    expect("flights in the copy", rows, source.flights)


def expect(what: str, found: object, expected: object, *, quietly: bool = False) -> None:
    """Compare, and say so."""
    if found != expected:
        raise AssertionError(f"{what}: expected {expected!r}, found {found!r}")
    if not quietly:
        say(f"  {what}: {found}")


def heading(text: str) -> None:
    """Start a step."""
    say(f"\n{text}\n{'-' * len(text)}")


def say(line: str) -> None:
    """Print one line immediately."""
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
