"""`python -m chaos`: run rounds until the time is over or something is wrong."""

from __future__ import annotations

import argparse
import random
import sys
import time
from pathlib import Path

from chaos.campaign import Campaign, totals
from chaos.s3_server import OPTIONS, serving


def main() -> int:
    """Run a campaign; 1 if something is wrong."""
    parser = argparse.ArgumentParser(prog="chaos", description=main.__doc__)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--seconds", type=float, default=20, help="of each round")
    parser.add_argument("--store", choices=["local", "s3"], default="local")
    parser.add_argument("--endpoint", help="of a running S3 server; a simulated one if not given")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--folder", type=Path, default=Path(".chaos"))
    given = parser.parse_args()
    if given.store == "local":
        folder = given.folder.resolve() / "local"
        campaign = Campaign.at(
            folder, str(folder / "repository"), {"fsync": "false"}, given.seed, given.workers
        )
        return run(campaign, given.minutes, given.seconds)
    with serving(given.endpoint) as (endpoint, is_new):
        # What a simulated server held is gone with it: each campaign there is a new one.
        folder = given.folder.resolve() / (f"s3-{given.seed}" if is_new else "s3")
        options = {**OPTIONS, "aws_endpoint": endpoint}
        location = f"s3://chaos/{folder.name}"
        campaign = Campaign.at(folder, location, options, given.seed, given.workers)
        # A request takes longer than a call of the file system.
        campaign.life = 20.0
        return run(campaign, given.minutes, given.seconds)


def run(campaign: Campaign, minutes: float, seconds: float) -> int:
    """Run rounds, print each and the totals, and return the exit code."""
    print(f"seed {campaign.state.seed}, from round {campaign.state.round + 1}, {campaign.folder}")
    end, wrong = time.monotonic() + 60 * minutes, False
    while time.monotonic() < end and not wrong:
        result = campaign.round(seconds)
        wrong = bool(result["wrong"])
        shown = {key: value for key, value in result.items() if key not in ("wrong", "errors")}
        print("  ".join(f"{key} {value}" for key, value in shown.items()), flush=True)
        for problem in result["wrong"]:
            print(f"WRONG: {problem}", file=sys.stderr)
    found = totals(campaign.folder / "results.jsonl")
    print("in all:  " + "  ".join(f"{key} {value}" for key, value in found.items()))
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
