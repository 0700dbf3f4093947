"""Causes: why tests that clients bring for any catalog don't pass at this one."""

from __future__ import annotations

import re
from typing import Final

# The first pattern that is found in what a test says is the cause.
_CAUSES: Final = (
    (
        r"endpoint: POST \S+/register",
        "Tables whose files lie elsewhere aren't registered: a repository keeps its own files.",
    ),
    (
        r"is not below the repository|is not a Parquet file",
        "The test appends files that don't exist, or aren't Parquet. The server reads the footer "
        "of every file before it is part of a table.",
    ),
    (
        r"partition field .* is \w+(\[\d+\])? of",
        "Tables are partitioned by the values of columns, and not by `bucket`, `truncate`, `day` "
        "and other transforms.",
    ),
    (
        r"partitioning of a table can't be changed",
        "The partitioning changes with `create or replace table`, and not in place.",
    ),
    (
        r"no sort order",
        "Tables have no sort order that clients set; dbt's `cluster_by` does that.",
    ),
    (r"chooses the location", "The catalog chooses the location of a table."),
    (r"chooses where a view", "The catalog chooses the location of a view's metadata."),
    (
        r"is written for \w+, and views",
        "Spark reads the views of a repository, too, so one in another dialect alone is refused.",
    ),
    (
        r"reads the catalog \S+, and views",
        "Views of a repository read relations of their own branch, so one that names a catalog "
        "is refused.",
    ),
    (r"would read itself", "A view that reads itself is refused."),
    (
        r"ViewHistoryEntry|SQLViewRepresentation|List check first element",
        "A view is shown as it is now, in Spark's dialect, with a number of its own as version.",
    ),
    (r"catalog serves tables in format version", "The catalog serves format versions 2 and 3."),
    (
        r"can't be a (schema|table)",
        "Schemas and tables have names of letters, digits and underscores, as in Spark's catalog.",
    ),
    (
        r"expected: struct|StructType|new columns",
        "The catalog numbers columns itself, the same on every branch, and shows columns that are "
        "NOT NULL but no key as optional.",
    ),
    (
        r"metadata\.json|_parse_metadata_version|Expecting code to raise",
        "The test counts, names or deletes files of metadata. Here they are made again when they "
        "are needed, and have names of their own.",
    ),
    (
        r"Expecting (actual|throwable message|message)\b",
        "The status and the kind of the error are those of the protocol, and its sentence isn't "
        "the one that the test expects: it says what to do next.",
    ),
    (
        r"AssumptionViolated|configurable per test|does not support slash|Only valid",
        "The test itself leaves out catalogs of this kind: namespaces have one level, and a "
        "warehouse always has one.",
    ),
)


def cause_of(reason: str) -> str | None:
    """Return why a test doesn't pass, given what it says; None if that isn't known."""
    return next((cause for pattern, cause in _CAUSES if re.search(pattern, reason)), None)
