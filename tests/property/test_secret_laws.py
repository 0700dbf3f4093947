"""The law of secrets: wherever one is put, no output and no message shows it."""

from __future__ import annotations

import traceback

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from dbt.adapters.vcs.cli import main
from dbt.adapters.vcs.core.errors import InputError, StorageError, VcsError
from dbt.adapters.vcs.core.failures import translated
from dbt.adapters.vcs.core.store.cloud import translated_cloud
from dbt.adapters.vcs.core.store.opening import CLOUD_SCHEMES, open_blobs

MARK = "zq7x"
"""A part of every secret: if none is shown, nothing of the secret is."""

SECRETS = st.builds(
    lambda first, second: f"{MARK}{first}{MARK}{second}{MARK}",
    st.sampled_from(["", *"/@:?#[]=+%&;,'\"\\", "==", "@/", " "]),
    st.sampled_from(["", *"/@:?#[]=+%&"]),
)
SCHEMES = st.one_of(
    st.sampled_from(["ftp", "http", "https", "hdfs", "jdbc:postgresql", "webdavs", "x", "file"]),
    st.sampled_from(["memory", "s3", "S3", "s3a", "gs", "az", "azure", "abfs", "abfss", "adl"]),
)
FORMS = st.sampled_from(
    [
        "{0}://user:{1}@host/x",
        "{0}://{1}@host/x",
        "{0}://{1}:@host/x",
        "{0}://host/x?sig={1}",
        "{0}://host/x#{1}",
        "{0}:/user:{1}@host/x",
        "{0}:user:{1}@host/x",
        "{0}:///user:{1}@host/x",
    ]
)
NAMES = st.one_of(
    st.sampled_from(["fsync", "allow_http", "timeout", "connect_timeout", "proxy_url"]),
    st.sampled_from(["user_agent", "nonsense", "aws_secret_access_key", "aws_access_key_id"]),
    st.sampled_from(["azure_storage_account_key", "azure_storage_sas_key", "aws_region"]),
    st.sampled_from(["google_service_account_key", "aws_virtual_hosted_style_request"]),
    st.sampled_from(["aws_s3_express", "aws_checksum_algorithm", "aws_conditional_put"]),
)
LOCATIONS = st.sampled_from(["s3://bucket/x", "gs://bucket/x", "az://box/x", "warehouse"])


def told(uri: str, options: dict[str, str]) -> str:
    """Everything that opening says: the store's name, or the message with its traceback."""
    try:
        return open_blobs(uri, options).uri
    except InputError as error:
        said = "".join(traceback.format_exception(error))
    arguments = [f"--storage-option={name}={value}" for name, value in options.items()]
    for more in ([], ["--json", "--debug"]):
        done = CliRunner().invoke(main, ["-r", uri, *arguments, "branch", "list", *more])
        assert done.exit_code
        said += done.stdout + done.stderr
        if done.exception is not None:
            said += "".join(traceback.format_exception(done.exception))
    return said


@given(SCHEMES, FORMS, SECRETS)
def test_a_secret_in_a_location_is_not_shown(scheme: str, form: str, secret: str) -> None:
    uri = form.format(scheme, secret)
    if uri.startswith(("file:/user", "file:///")):
        return  # A path on the local disk is no secret: it is where the repository is.
    if (
        scheme.lower() in CLOUD_SCHEMES
        and form.startswith("{0}://{1}@")
        and set(secret) & {*"/?#"}
    ):
        return  # A bucket and a folder with an @ in its name.
    assert MARK not in told(uri, {})


@given(LOCATIONS, NAMES, SECRETS)
def test_a_secret_in_a_storage_option_is_not_shown(uri: str, name: str, secret: str) -> None:
    assert MARK not in told(uri, {name: secret})
    assert MARK not in told(uri, {name: f"http://user:{secret}@proxy:1"})


@given(LOCATIONS, SECRETS)
def test_a_secret_in_the_place_of_an_options_name_is_not_shown(uri: str, secret: str) -> None:
    assert MARK not in told(uri, {secret: "x"})


@given(
    SECRETS.filter(lambda secret: not set(secret) & set(" '\"")),
    st.sampled_from(
        [
            "error sending request for url (https://user:{}@host/x)",
            "error sending request for url (https://host/x?sv=1&sig={}&se=2)",
            "Generic S3 error: aws_secret_access_key={}",
            'bad config {{"client_secret": "{}"}}',
        ]
    ),
)
def test_a_secret_in_an_error_of_the_store_is_not_shown(secret: str, text: str) -> None:
    for block in (translated, translated_cloud):
        with pytest.raises(StorageError) as caught, block("read", "a", "s3://b"):
            raise OSError(text.format(secret))
        error: VcsError = caught.value
        assert MARK not in str(error)
