"""Compare our reader of queries with sqlglot's, Spark's own parser being the judge of both.

Two sets of texts: the queries among sqlglot's own fixtures, and texts of what only Spark writes.
Texts that Spark does not parse are left out, since nothing is right about them.
"""

import argparse
import re
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Final, TypeAlias

from report import Report, seconds
from spark_parser import Condition, Parsed, Place, SparkParser
from sqlglot_reader import comparisons_of as sqlglot_comparisons
from sqlglot_reader import places_of as sqlglot_places

from dbt.adapters.vcs.core.errors import VcsError
from dbt.adapters.vcs.sql.syntax import lexer
from dbt.adapters.vcs.sql.syntax.conditions import Comparison, comparisons_of
from dbt.adapters.vcs.sql.syntax.lexer import Slice, tokenize
from dbt.adapters.vcs.sql.syntax.names import CATALOG, FILE_FORMATS, SESSION, Name
from dbt.adapters.vcs.sql.syntax.parser import query_of

OWN_TEXTS = Path(__file__).with_name("spark_queries.sql")
PACKAGE = Path(lexer.__file__).parent
OURS = ("lexer", "scan", "relations", "query", "conjuncts")
Judged: TypeAlias = list[tuple[str, Parsed]]
_QUERY = re.compile(r"(?i)\s*(\(|(select|with|from|values|table|map|reduce)\b)")


def main() -> None:
    """Run, report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--fixtures", type=Path, help="folder of sqlglot's fixtures (default: fetch its sdist)"
    )
    parser.add_argument("--differences", action="store_true", help="print each wrong reading")
    options = parser.parse_args()
    corpora = {"Spark's own syntax": OWN_TEXTS.read_text(encoding="utf-8").split("\n----\n")}
    with tempfile.TemporaryDirectory(prefix="dbt-vcs-bench-") as folder:
        fixtures = options.fixtures or fetched(Path(folder))
        corpora["sqlglot's fixtures"] = list(dict.fromkeys(queries_in(fixtures)))
    judged = {name: judged_by_spark(texts) for name, texts in corpora.items()}
    found = {
        corpus: {name: compare(name, texts, options.differences) for name in READERS}
        for corpus, texts in judged.items()
    }
    report = summarize(found, {name: len(texts) for name, texts in corpora.items()})
    report.save()
    print(report.markdown())


def judged_by_spark(texts: Iterable[str]) -> Judged:
    """Return the texts that Spark's parser takes, and what it reads in them."""
    spark = SparkParser()
    try:
        return [(text, read) for text in texts if (read := spark.parse(text)) is not None]
    finally:
        spark.close()


def fetched(folder: Path) -> Path:
    """Fetch the source of the sqlglot that is installed; return the folder of its fixtures."""
    wanted = f"sqlglot=={version('sqlglot')}"
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--no-binary=:all:",
    ]
    subprocess.run([*command, "--dest", str(folder), wanted], check=True)
    (archive,) = folder.glob("sqlglot-*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    return archive.with_name(archive.name.removesuffix(".tar.gz")) / "tests" / "fixtures"


def queries_in(fixtures: Path) -> Iterator[str]:
    """Give the texts that begin like a query; one file has one a line."""
    for path in sorted(fixtures.rglob("*.sql")):
        content = path.read_text(encoding="utf-8")
        if path.name == "identity.sql":
            texts = content.splitlines()
        else:
            texts = re.sub(r"(?m)^\s*--.*$", "", content).split(";")
        yield from (text.strip() for text in texts if _QUERY.match(text))


def our_places(text: str) -> frozenset[Place]:
    """Return where our own reader finds relations."""
    reads = query_of(text, tokenize(text)[:-1]).reads
    return frozenset(
        Place(_parts(read.name), read.start, read.name_end, read.aliased) for read in reads
    )


def _parts(name: Name) -> tuple[str, ...]:
    if name.schema == SESSION:
        return (*SESSION.split("."), name.identifier.lower())
    schema = () if name.schema is None else (name.schema.lower(),)
    return (*((CATALOG,) if name.in_catalog else ()), *schema, name.identifier.lower())


def our_comparisons(condition: Condition) -> frozenset[Comparison]:
    """Return the conjuncts that our own reader finds."""
    name = Name.of(condition.relation)
    if name is None:
        return frozenset()
    where = Slice(0, len(condition.text))
    return frozenset(comparisons_of(condition.text, where, name, condition.alias))


def their_comparisons(condition: Condition) -> frozenset[Comparison]:
    """Return the conjuncts that sqlglot finds."""
    return frozenset(sqlglot_comparisons(condition.text, condition.own))


READERS: Final[
    dict[
        str,
        tuple[Callable[[str], frozenset[Place]], Callable[[Condition], frozenset[Comparison]]],
    ]
] = {
    "ours": (our_places, our_comparisons),
    "sqlglot": (sqlglot_places, their_comparisons),
}


def compare(name: str, texts: Judged, show: bool) -> Counter[str]:
    """Count what a reader reads as Spark does, and how else it reads."""
    read, comparisons = READERS[name]
    count = Counter(texts=len(texts))
    for text, parsed in texts:
        kind = judge(read, text, parsed)
        count[kind] += 1
        if show and kind != "right":
            print(name, kind, repr(text), sorted(parsed.places), sep="\n  ")
        for condition in parsed.conditions:
            found = judge_conjuncts(comparisons, condition)
            count.update(found)
            if show and found["conjuncts invented"]:
                print(name, comparisons(condition), condition, sep="\n  ")
    count["microseconds"] = round(1e6 * min(_pass(read, texts) for _ in range(3)) / len(texts))
    return count


def judge(read: Callable[[str], frozenset[Place]], text: str, parsed: Parsed) -> str:
    """Say how a reader reads a text: right, or what is wrong with it first of all."""
    try:
        found = {_told(place, text) for place in read(text) if _is_of_branch(place)}
    except VcsError:
        return "refused"
    except Exception:
        return "not parsed"
    expected = {_told(place, text) for place in parsed.places if _is_of_branch(place)}
    named, meant = ({place[:3] for place in some} for some in (found, expected))
    if meant - named:
        return "relation missed"
    if named - meant:
        return "relation too many"
    return "right" if found == expected else "alias wrong"


def judge_conjuncts(
    read: Callable[[Condition], frozenset[Comparison]], condition: Condition
) -> Counter[str]:
    """Count the conjuncts that a reader reads as Spark does, and those that Spark doesn't see."""
    expected = frozenset(map(_plain, condition.comparisons))
    try:
        found = frozenset(map(_plain, read(condition)))
    except Exception:
        found = frozenset()
    return Counter(
        {
            "conjuncts": len(expected),
            "conjuncts read": len(found & expected),
            "conjuncts invented": len(found - expected),
        }
    )


def _plain(comparison: Comparison) -> Comparison:
    """Return a comparison whose numbers are written in one way: 1e3 as 1000.0."""
    return comparison._replace(
        values=tuple(
            value._replace(value=repr(float(value.value))) if value.kind == "number" else value
            for value in comparison.values
        )
    )


def _told(place: Place, text: str) -> Place:
    """Return a place as compared: behind `table` no alias is allowed, so none is missing."""
    behind_table = re.search(r"(?i)\btable\s*\(?\s*$", text[: place.start]) is not None
    return place._replace(aliased=place.aliased or behind_table)


def _is_of_branch(place: Place) -> bool:
    """Say whether a name can lie on a branch: no file, nor of another catalog."""
    parts = place.parts
    if len(parts) == 2 and parts[0] in FILE_FORMATS:
        return parts[1].replace("_", "a").isalnum()
    return len(parts) < 3 or parts[0] == CATALOG


def _pass(read: Callable[[str], object], texts: Judged) -> float:
    """Return the seconds for all texts, those included that it fails on."""

    def work() -> None:
        for text, _ in texts:
            with suppress(Exception):
                read(text)

    return seconds(work)


def lines_of(*paths: Path) -> int:
    """Return the lines of some files."""
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)


def summarize(found: dict[str, dict[str, Counter[str]]], texts: dict[str, int]) -> Report:
    """Put the counts into a table, a row for each set of texts and each reader."""
    kinds = ("right", "relation missed", "relation too many", "alias wrong", "refused")
    rows = []
    for corpus, counts in found.items():
        for name, count in counts.items():
            conjuncts = f"{count['conjuncts read']} of {count['conjuncts']}"
            rows.append(
                [
                    corpus,
                    name,
                    str(count["texts"]),
                    *(str(count[kind]) for kind in (*kinds, "not parsed")),
                    conjuncts,
                    str(count["conjuncts invented"]),
                    f"{count['microseconds'] / 1000:.2f}",
                ]
            )
    ours = lines_of(*(PACKAGE / f"{name}.py" for name in OURS))
    adapter = lines_of(Path(__file__).with_name("sqlglot_reader.py"))
    return Report(
        name="query_readers",
        title="Two readers of queries, judged by Spark's parser",
        columns=(
            "texts of",
            "reader",
            "texts",
            *kinds,
            "not parsed",
            "conjuncts read",
            "conjuncts invented",
            "ms a text",
        ),
        rows=rows,
        notes=[
            "; ".join(f"{corpus}: {number} texts" for corpus, number in texts.items())
            + ", of which Spark's parser takes those counted.",
            "Right: the same relations with the same offsets, aliased or not as Spark sees it.",
            f"Ours has {ours} lines ({', '.join(OURS)}); of these the lexer, the names and the "
            "edits also serve statements that are no queries, which sqlglot would not replace. "
            f"The adapter for sqlglot {version('sqlglot')} has {adapter} lines.",
            "The time is that of reading relations, the best of three passes.",
        ],
        figures={
            corpus: {name: dict(count) for name, count in counts.items()}
            for corpus, counts in found.items()
        },
    )


if __name__ == "__main__":
    main()
