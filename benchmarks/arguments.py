"""Number arguments for argparse: a bad one is reported before any work."""

from argparse import ArgumentTypeError

SMALLEST_SCALE = 0.001
"""Below it, change sets would be as large as lineitem."""


def whole_number(text: str) -> int:
    """Return how many there are to be; one at least."""
    number = int(text)
    if number < 1:
        raise ArgumentTypeError(f"expected 1 or more, found {number}")
    return number


def scale_factor(text: str) -> float:
    """Return a scale factor of TPC-H."""
    number = float(text)
    if not SMALLEST_SCALE <= number < float("inf"):
        raise ArgumentTypeError(f"expected {SMALLEST_SCALE:g} or more, found {number:g}")
    return number
