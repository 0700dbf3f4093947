"""What the paper measured: seconds at 600 million rows on 64 cores, by change set C1 to C4."""

from collections.abc import Mapping, Sequence

Figures = Mapping[str, Sequence[float]]

DIFF: Figures = {
    "PK": (0.19, 0.38, 1.73, 3.27),
    "no PK": (0.85, 22.50, 9.04, 60.19),
    "SQL, PK": (316.16, 418.19, 428.78, 431.50),
    "SQL, no PK": (378.19, 396.61, 394.13, 371.74),
}
MERGE: Figures = {
    "PK": (0.35, 0.97, 7.95, 16.13),
    "no PK": (0.88, 22.70, 12.09, 68.75),
    "SQL, PK": (321.52, 412.89, 442.68, 471.16),
    "SQL, no PK": (393.95, 405.35, 401.59, 403.18),
}
DISJOINT_DIFF: Figures = {
    "PK": (0.08, 0.28, 1.36, 3.04),
    "no PK": (0.65, 28.34, 8.41, 58.72),
    "SQL, PK": (438.41, 460.33, 483.35, 507.52),
    "SQL, no PK": (433.28, 448.88, 443.68, 444.54),
}
DISJOINT_MERGE: Figures = {
    "PK": (0.26, 1.69, 7.98, 22.81),
    "no PK": (0.56, 28.29, 11.37, 66.59),
    "SQL, PK": (421.87, 442.96, 465.11, 488.36),
    "SQL, no PK": (421.87, 437.06, 431.99, 432.84),
}
OVERLAP_DIFF: Figures = {
    "PK": (0.18, 0.28, 1.52, 3.12),
    "no PK": (0.59, 7.95, 8.69, 61.07),
    "SQL, PK": (456.37, 479.19, 503.15, 528.30),
    "SQL, no PK": (445.42, 448.96, 456.04, 454.27),
}
OVERLAP_MERGE: Figures = {
    "PK": (0.25, 1.27, 8.36, 23.41),
    "no PK": (0.58, 8.05, 11.04, 66.74),
    "SQL, PK": (473.96, 497.65, 522.54, 548.66),
    "SQL, no PK": (448.30, 451.87, 459.00, 457.21),
}


def times_faster(figures: Figures, kind: str) -> list[float]:
    """Return the paper's own ratios of SQL to what is built in, by change set."""
    return [sql / own for sql, own in zip(figures[f"SQL, {kind}"], figures[kind], strict=True)]
