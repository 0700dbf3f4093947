"""Methods of a profile: known, refused with the way round, or misspelt."""

from __future__ import annotations

import pytest

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.engines import factory
from dbt.adapters.vcs.engines.methods import METHODS, check_method, method_of


def test_each_known_method_has_an_engine() -> None:
    assert tuple(factory._MAKERS) == METHODS


@pytest.mark.parametrize("method", ["thrift", "http", "odbc"])
def test_a_method_of_sql_only_is_refused_with_the_way_round(method: str) -> None:
    with pytest.raises(InputError) as raised:
        check_method(method)
    told = str(raised.value)
    assert told.startswith(f"method: {method} is not supported by type: vcs: ")
    for way in ("start-connect-server.sh", "method: connect with host: sc://", "spark.master"):
        assert way in told


@pytest.mark.parametrize(
    ("method", "end"),
    [
        ("sesion", "; did you mean session?"),
        ("Connect", "; did you mean connect?"),
        ("livy", "; expected session or connect."),
        ("", "; expected session or connect."),
    ],
)
def test_another_method_is_unknown(method: str, end: str) -> None:
    with pytest.raises(InputError) as raised:
        check_method(method)
    assert str(raised.value) == f"method: {method} is unknown to type: vcs{end}"


def test_an_address_needs_the_method_of_a_server() -> None:
    settings = {"spark.remote": "sc://spark.example.com"}
    assert method_of(settings) == "connect"
    check_method("connect", settings)
    with pytest.raises(InputError, match="needs method: connect; the profile has method: session"):
        check_method("session", settings)
