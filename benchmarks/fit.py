"""How costs grow, in one number."""

import math
from collections.abc import Mapping


def exponent(costs: Mapping[float, float] | Mapping[int, float]) -> float:
    """Return the slope of cost over size, both as logarithms: 0 is flat, 1 is linear.

    Of a single size it is 0.
    """
    points = [(math.log(size), math.log(cost)) for size, cost in costs.items()]
    x, y = (sum(values) / len(points) for values in zip(*points, strict=True))
    spread = sum((one - x) ** 2 for one, _ in points)
    return sum((one - x) * (other - y) for one, other in points) / spread if spread else 0.0


def spread(costs: Mapping[float, float] | Mapping[int, float]) -> float:
    """Return the highest cost over the lowest."""
    return max(costs.values()) / min(costs.values())
