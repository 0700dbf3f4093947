"""`python -m chaos`: run rounds until the time is over or something is wrong."""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from chaos.campaign import Campaign, totals
from chaos.plays import WEATHERS, Plays
from chaos.proxy import counts, proxy
from chaos.s3_server import OPTIONS, serving
from chaos.storms import Storms

_BAD_REQUESTS = 0.03
"""How likely the proxy before an S3 server treats a request badly."""


def main() -> int:
    """Run a campaign; 1 if something is wrong."""
    parser = argparse.ArgumentParser(prog="chaos", description=main.__doc__)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--seconds", type=float, default=20, help="of each round")
    parser.add_argument(
        "--store",
        choices=["local", "s3", "memory", "storms"],
        default="local",
        help="memory: all workers in one process, which kills none with signals; "
        "storms: threads beside purges and collections, on local disk",
    )
    parser.add_argument(
        "--weather", choices=list(WEATHERS), help="the trouble of all games in memory"
    )
    parser.add_argument("--endpoint", help="of a running S3 server; one of its own if not given")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--folder", type=Path, default=Path(".chaos"))
    given = parser.parse_args()
    version = _version()
    if given.store == "memory":
        plays = Plays.at(given.folder.resolve() / "memory", given.seed, version, given.weather)
        print(f"seed {plays.seed}, from game {plays.number + 1}, {plays.folder}")
        return run(plays.game, plays.folder, given.minutes)
    if given.store == "storms":
        storms = Storms(given.folder.resolve() / f"storms-{given.seed}", given.seed, version)
        print(f"seed {storms.seed}, {storms.folder}")
        return run(storms.round, storms.folder, given.minutes)
    if given.store == "local":
        folder = given.folder.resolve() / "local"
        campaign = Campaign.at(
            folder, str(folder / "repository"), {"fsync": "false"}, given.seed, given.workers
        )
        return run_rounds(campaign, given.minutes, given.seconds, version)
    with serving(given.endpoint, given.folder.resolve()) as (endpoint, is_new):
        # What a simulated server held is gone with it: each campaign there is a new one.
        folder = given.folder.resolve() / (f"s3-{given.seed}" if is_new else "s3")
        options = {**OPTIONS, "aws_endpoint": endpoint}
        location = f"s3://chaos/{folder.name}"
        campaign = Campaign.at(folder, location, options, given.seed, given.workers)
        # A request takes longer than a call of the file system.
        campaign.life = 20.0
        with proxy(endpoint, _BAD_REQUESTS, campaign.state.seed) as front:
            campaign.proxied = {**options, "aws_endpoint": front}
            campaign.counted = lambda: counts(front)
            return run_rounds(campaign, given.minutes, given.seconds, version)


def run_rounds(campaign: Campaign, minutes: float, seconds: float, version: str) -> int:
    """Run rounds of processes, each for some seconds."""
    campaign.version = version
    print(f"seed {campaign.state.seed}, from round {campaign.state.round + 1}, {campaign.folder}")
    return run(lambda: campaign.round(seconds), campaign.folder, minutes)


def run(once: Callable[[], dict[str, Any]], folder: Path, minutes: float) -> int:
    """Run rounds, print each and the totals, and return the exit code."""
    end, wrong = time.monotonic() + 60 * minutes, False
    while time.monotonic() < end and not wrong:
        result = once()
        wrong = bool(result["wrong"])
        shown = {key: value for key, value in result.items() if key not in ("wrong", "errors")}
        print("  ".join(f"{key} {value}" for key, value in shown.items()), flush=True)
        for problem in result["wrong"]:
            print(f"WRONG: {problem}", file=sys.stderr)
    found = totals(folder / "results.jsonl")
    print("in all:  " + "  ".join(f"{key} {value}" for key, value in found.items()))
    return int(wrong)


def _version() -> str:
    """Return the commit of the checkout, empty where there is none."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=10"]
    found = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True)
    return found.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
