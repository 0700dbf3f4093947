"""What a benchmark found: Markdown and a picture for people, JSON for programs."""

import json
import os
import platform
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from time import perf_counter

from plots import Chart

RESULTS = Path(__file__).resolve().parent / "results"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One table of results.

    Attributes:
        name: Of its files, without an ending.
        title: Of the table and of the picture.
        columns: Heads of the columns.
        rows: Cells, row by row.
        notes: What a reader has to know: how it was measured, on which rows.
        figures: The raw measurements behind it.
        chart: The picture, if there is one.
    """

    name: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    figures: Mapping[str, object] = field(default_factory=dict)
    chart: Chart | None = None

    def markdown(self) -> str:
        """Lay the report out as a Markdown page."""
        lines = [f"# {self.title}", "", _line(self.columns), _line(["---"] * len(self.columns))]
        lines += [_line(row) for row in self.rows]
        lines += ["", *[f"- {note}" for note in (*self.notes, _machine())]]
        return "\n".join(lines) + "\n"

    def save(self, folder: Path = RESULTS) -> Path:
        """Write ``<name>.md``, ``.json`` and, with a chart, ``.png`` into a folder.

        Returns:
            The path of the Markdown file.
        """
        folder.mkdir(parents=True, exist_ok=True)
        content = {**asdict(self), "machine": _machine()}
        (folder / f"{self.name}.json").write_text(json.dumps(content, indent=2) + "\n")
        if self.chart is not None:
            self.chart.draw(folder / f"{self.name}.png", self.title)
        path = folder / f"{self.name}.md"
        path.write_text(self.markdown(), encoding="utf-8")
        return path


def seconds(work: Callable[[], object]) -> float:
    """Do the work once; how long it took, in seconds of wall time."""
    start = perf_counter()
    work()
    return perf_counter() - start


def median(values: Sequence[float]) -> float:
    """Take the middle of the measurements."""
    return statistics.median(values)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _machine() -> str:
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    versions = ", ".join(f"{name} {version(name)}" for name in ("dbt-vcs", "pyspark", "pyarrow"))
    return (
        f"{_processor()}, {os.cpu_count()} cores, {memory:.0f} GiB, {platform.system()}, "
        f"Python {platform.python_version()}, {versions}"
    )


def _processor() -> str:
    """Return the processor's own name, if the system reports it."""
    told = Path("/proc/cpuinfo")
    lines = told.read_text(encoding="utf-8").splitlines() if told.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
