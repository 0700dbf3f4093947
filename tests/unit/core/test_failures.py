"""A store's own errors become ours: named, on one line, without credentials."""

import errno
import os

import pytest
from obstore.exceptions import BaseError, GenericError, PermissionDeniedError, UnauthenticatedError

from dbt.adapters.vcs.core.errors import InputError, NotFoundError, StorageError
from dbt.adapters.vcs.core.failures import translated
from dbt.adapters.vcs.core.store.cloud import translated_cloud


def translate(error: Exception, verb: str = "write") -> str:
    inside = translated_cloud if isinstance(error, BaseError) else translated
    with pytest.raises((StorageError, NotFoundError)) as caught, inside(verb, "a/b", "s3://x"):
        raise error
    return str(caught.value)


def test_missing_is_not_found_when_read_and_no_bucket_when_written() -> None:
    with (
        pytest.raises(NotFoundError, match="no file a/b in s3://x"),
        translated("read", "a/b", "s3://x"),
    ):
        raise FileNotFoundError("gone")
    assert "there is no s3://x" in translate(FileNotFoundError("gone"))


@pytest.mark.parametrize(
    "error",
    [
        PermissionError(errno.EACCES, "Permission denied"),
        OSError(errno.EROFS, "Read-only file system"),
        PermissionDeniedError("denied"),
        UnauthenticatedError("who are you"),
        GenericError("Generic LocalFileSystem error: Unable to open: denied (os error 13)"),
    ],
)
def test_denied_says_what_to_check(error: Exception) -> None:
    assert translate(error).startswith("No permission to write in s3://x (a/b: ")
    assert "Check the rights" in translate(error)


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
        OSError(errno.EDQUOT, os.strerror(errno.EDQUOT)),
        GenericError("Generic LocalFileSystem error: Unable to copy data (os error 28)"),
    ],
)
def test_a_full_disk_says_so(error: Exception) -> None:
    assert "No space left to write a/b in s3://x. Free some space" in translate(error)


@pytest.mark.parametrize(
    "asked",
    ["PUT http://169.254.169.254/latest/api/token", "GET http://metadata.google.internal/x"],
)
def test_missing_credentials_are_named(asked: str) -> None:
    error = GenericError(f"Generic S3 error: Error performing {asked} in 1.1ms - HTTP error")
    assert "no credentials to read" in translate(error, "read")
    assert "storage_options" in translate(error)


def test_only_the_first_line_is_kept() -> None:
    text = translate(GenericError("It broke\n\nDebug source:\nGeneric {\n}"))
    assert "It broke. Check that the location is reachable" in text
    assert "\n" not in text
    assert "Debug" not in text


def test_credentials_are_left_out() -> None:
    text = translate(
        GenericError(
            "GET https://ann:pw@host/x?sig=s1&X-Amz-Signature=s2 failed: "
            "aws_secret_access_key=s3, token: s4; account_key = s5"
        )
    )
    assert "GET https://***@host/x failed" in text
    for secret in ("ann", "pw@", "s1", "s2", "s4", "s5", "=s3"):
        assert secret not in text.replace("s3://", "")


def test_an_error_without_text_is_named() -> None:
    assert "TimeoutError" in translate(TimeoutError())


def test_our_own_errors_and_bugs_pass_unchanged() -> None:
    with pytest.raises(InputError, match=r"^mine$"), translated("read", "a", "u"):
        raise InputError("mine")
    with pytest.raises(KeyError), translated("read", "a", "u"):
        raise KeyError("bug")
