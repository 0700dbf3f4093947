"""Addresses of servers, and what they show."""

import pytest

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.engines.methods import ServerAddress, address_of, url_of, with_remote

NOTHING = {"host": None, "port": None, "token": None, "user": None, "use_ssl": False}


@pytest.mark.parametrize(
    ("said", "url"),
    [
        ({"host": "sc://spark:15002"}, "sc://spark:15002"),
        ({"host": "spark"}, "sc://spark"),
        ({"host": "spark", "port": 443, "use_ssl": True}, "sc://spark:443/;use_ssl=true"),
        ({"host": "spark", "token": "a=b;c"}, "sc://spark/;token=a%3Db%3Bc;use_ssl=true"),
        ({"host": "sc://[::1]", "port": 443, "user": "ann"}, "sc://[::1]:443/;user_id=ann"),
        (
            {"host": "sc://spark:1/;x-org=7", "token": "t"},
            "sc://spark:1/;x-org=7;token=t;use_ssl=true",
        ),
    ],
)
def test_what_a_profile_says_is_one_address(said: dict[str, object], url: str) -> None:
    assert with_remote({}, **{**NOTHING, **said}) == {"spark.remote": url}  # type: ignore[arg-type]
    assert address_of({"spark.remote": url}).url == url


def test_a_token_is_in_no_text_of_an_address() -> None:
    address = ServerAddress(url_of("spark", token="s3cr=t"))
    assert address.token == "s3cr=t"
    assert "s3cr" not in f"{address} {address!r}"
    assert str(address) == "sc://spark"


@pytest.mark.parametrize(
    "url", ["spark:15002", "http://spark", "sc://", "sc://spark/path", "sc://s/;token", "sc://s:x"]
)
def test_a_wrong_address_is_refused_and_not_quoted(url: str) -> None:
    with pytest.raises(InputError, match=r"sc://host:15002") as caught:
        address_of({"spark.remote": url})
    assert url == "sc://" or url not in str(caught.value)


def test_an_address_is_given_once() -> None:
    with pytest.raises(InputError, match="port is 2"):
        url_of("sc://spark:1", port=2)
    with pytest.raises(InputError, match="set one of them"):
        with_remote({"spark.remote": "sc://a"}, **{**NOTHING, "host": "b"})  # type: ignore[arg-type]
    with pytest.raises(InputError, match="go with host"):
        with_remote({}, **{**NOTHING, "token": "t"})  # type: ignore[arg-type]


def test_a_missing_address_says_where_to_set_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_REMOTE", raising=False)
    with pytest.raises(InputError, match="set host"):
        address_of({})
    monkeypatch.setenv("SPARK_REMOTE", "sc://there")
    assert str(address_of({})) == "sc://there"
