"""Which of two ways is taken: this process, or what takes its place."""

from __future__ import annotations

import pytest

from dbt.adapters.vcs.core.errors import InputError, UnsupportedError, VcsError
from dbt.adapters.vcs.table.limits import TooLargeError, in_process_first


def refusing(error: VcsError) -> int:
    raise error


def unused() -> str:
    raise AssertionError("the engine was asked")


def test_the_engine_is_not_asked_for_what_is_computed_here() -> None:
    assert in_process_first(lambda: 1, unused) == 1


@pytest.mark.parametrize("error", [TooLargeError("many"), UnsupportedError("variant")])
def test_the_engine_computes_what_is_too_large_or_of_other_types(error: VcsError) -> None:
    assert in_process_first(lambda: refusing(error), lambda: "engine") == "engine"


def test_a_wrong_input_is_not_tried_again() -> None:
    with pytest.raises(InputError, match="no such column"):
        in_process_first(lambda: refusing(InputError("no such column")), unused)


def test_a_refusal_of_the_engine_is_its_own() -> None:
    with pytest.raises(UnsupportedError, match="never"):
        in_process_first(
            lambda: refusing(TooLargeError("many")), lambda: refusing(UnsupportedError("never"))
        )
