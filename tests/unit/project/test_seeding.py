"""The files of seeds, before dbt reads them."""

from pathlib import Path

import pytest

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.project.seeds import check_seed_file


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "seed.csv has no header: its first line is empty"),
        ("\na,b\n", "has no header"),
        ("Week,b,week\n1,2,3\n", "Week and week, which are one name to Spark: Week,b,week"),
    ],
)
def test_a_header_that_no_table_can_have_is_refused(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "seed.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=words):
        check_seed_file(path, ",")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b\n", None),
        ("a,,\n1,2,3\n", None),
        ('\ufeff"a,b",c\n', None),
        ("a,b,a\n1,2,3\n", "seed.csv has columns twice: a. dbt calls the second a_2."),
    ],
)
def test_a_column_that_dbt_renames_is_told(tmp_path: Path, text: str, words: str | None) -> None:
    path = tmp_path / "seed.csv"
    path.write_text(text, encoding="utf-8")
    found = check_seed_file(path, ",")
    assert found is None if words is None else found is not None and words in found


def test_what_dbt_itself_refuses_is_left_to_it(tmp_path: Path) -> None:
    assert check_seed_file(tmp_path / "none.csv", ",") is None
