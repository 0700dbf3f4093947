"""The name of a partition's folder is parsed back into its value."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.table.partition_values import NULL_FOLDER, partition_folder, partition_values

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
plain = st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1), st.booleans(), st.dates(), texts)


def text_of(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.isoformat() if isinstance(value, date) else str(value)


@given(values=st.dictionaries(texts.filter(lambda id: id not in ("", "w")), plain, max_size=3))
def test_folders_give_back_their_values(values: dict[str, object]) -> None:
    if any(value in ("", NULL_FOLDER) for value in values.values()):
        with pytest.raises(InputError, match="would read back as NULL"):
            [partition_folder(id, value) for id, value in values.items()]
        return
    folders = "".join(f"{partition_folder(id, value)}/" for id, value in values.items())
    found = partition_values(f"data/t/w=x1/{folders}part.parquet")
    assert found == {id: text_of(value) for id, value in values.items()}
    assert list(found) == list(values)
