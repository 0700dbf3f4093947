"""Rounds: works that are compared take turns, so that both meet the same machine."""

import sys
from collections.abc import Callable, Mapping

LONG = 60.0
"""Seconds; a work that takes longer is done once, without a warm-up."""

PATIENCE = 45.0
"""Seconds; a shorter work is done as often as fits into them, if not as often as was asked for."""


def told(repeat: int) -> str:
    """Return a report's note on how often its works were done."""
    return (
        f"Medians of {repeat} rounds after a warm-up; what takes more than {PATIENCE / repeat:g} "
        f"s is done as often as fits into {PATIENCE:g} s, what takes more than {LONG:g} s once."
    )


def take_turns(
    title: str, works: Mapping[str, Callable[[], float]], repeat: int
) -> dict[str, list[float]]:
    """Do each work once to warm up, then in turns, the order reversed in every other round.

    Args:
        title: What is measured, for who waits.
        works: By name, what does it once and returns the seconds of what counts of it.
        repeat: How many rounds count, at most.

    Returns:
        The seconds that count, by work.
    """
    first = {}
    for name, work in works.items():
        first[name] = work()
        sys.stderr.write(f"{title}, {name}: {first[name]:.3f} s, the first time\n")
    times: dict[str, list[float]] = {
        name: [took] if took > LONG else [] for name, took in first.items()
    }
    rounds = {
        name: 0 if took > LONG else max(1, min(repeat, int(PATIENCE / took)))
        for name, took in first.items()
    }
    for number in range(repeat):
        for name in works if number % 2 else reversed(works):
            if number < rounds[name]:
                times[name].append(works[name]())
    return times
