"""What clients are told of the object store, and that credentials go on only if they are to."""

from __future__ import annotations

import pytest

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.iceberg.serve.start import store_properties

S3 = "s3://bucket/shop"
KEYS = {"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "hush", "AWS_SESSION_TOKEN": "tok"}


def test_the_place_of_the_files_is_always_told() -> None:
    options = {"aws_endpoint": "http://127.0.0.1:9000", "region": "eu-central-1"}
    assert store_properties(S3, options, KEYS) == {
        "s3.endpoint": "http://127.0.0.1:9000",
        "s3.region": "eu-central-1",
        "client.region": "eu-central-1",
        "s3.path-style-access": "true",
    }
    virtual = {**options, "aws_virtual_hosted_style_request": "true"}
    assert store_properties(S3, virtual, {})["s3.path-style-access"] == "false"
    assert store_properties(S3, {}, {"AWS_DEFAULT_REGION": "r"})["s3.region"] == "r"
    assert store_properties(S3, {}, {}) == {}


def test_credentials_are_handed_on_only_if_they_are_to_be() -> None:
    assert not any("hush" in value for value in store_properties(S3, {}, KEYS).values())
    assert store_properties(S3, {}, KEYS, vended=True) == {
        "s3.access-key-id": "id",
        "s3.secret-access-key": "hush",
        "s3.session-token": "tok",
    }


def test_storage_options_go_before_the_environment() -> None:
    options = {"AWS_ACCESS_KEY_ID": "mine", "secret_access_key": "own"}
    found = store_properties(S3, options, {**KEYS, "HOME": "/root"}, vended=True)
    assert (found["s3.access-key-id"], found["s3.secret-access-key"]) == ("mine", "own")


@pytest.mark.parametrize(
    ("location", "told"),
    [(S3, "role can't be handed on"), ("/srv/shop", "file://"), ("gs://bucket", "gs://")],
)
def test_credentials_that_can_not_be_handed_on_are_refused(location: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        store_properties(location, {}, {"AWS_ACCESS_KEY_ID": "id"}, vended=True)
    assert store_properties(location, {}, {}) == {}
