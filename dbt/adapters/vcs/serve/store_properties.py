"""Store properties: how a client reaches the repository's files, as Iceberg's clients name it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dbt.adapters.vcs.core.errors import InputError

_S3: Final = frozenset({"s3", "s3a"})
_PLACE: Final = {
    "endpoint": "s3.endpoint",
    "endpoint_url": "s3.endpoint",
    "region": "s3.region",
    "default_region": "s3.region",
}
_CREDENTIALS: Final = {
    "access_key_id": "s3.access-key-id",
    "secret_access_key": "s3.secret-access-key",
    "session_token": "s3.session-token",
    "token": "s3.session-token",
}
_KEY_PAIR: Final = frozenset({"s3.access-key-id", "s3.secret-access-key"})
_YES: Final = frozenset({"true", "1", "yes", "on"})


def store_properties(
    location: str,
    options: Mapping[str, str],
    environment: Mapping[str, str],
    *,
    vended: bool = False,
) -> dict[str, str]:
    """Return the properties that clients are given with each table.

    Region and endpoint are always among them, credentials only if they are to be handed on.

    Args:
        location: URI of the repository.
        options: Settings of the object store; they go before the environment.
        environment: The server's environment variables.
        vended: Hand the server's own credentials on.

    Raises:
        InputError: They are to be handed on, and there are none that can be.
    """
    scheme = location.partition("://")[0].lower() if "://" in location else "file"
    if scheme not in _S3:
        if vended:
            raise InputError(
                f"--vended hands credentials of S3 on, and the repository is in {scheme}://. "
                "Leave it out, and give clients access to the files themselves."
            )
        return {}
    settings = _settings(environment, "aws_") | _settings(options)
    found = _named(settings, _PLACE)
    if "s3.region" in found:
        found["client.region"] = found["s3.region"]
    if "s3.endpoint" in found:
        virtual = settings.get("virtual_hosted_style_request", "").lower() in _YES
        found["s3.path-style-access"] = "false" if virtual else "true"
    if vended:
        found |= _credentials(settings)
    return found


def _credentials(settings: Mapping[str, str]) -> dict[str, str]:
    found = _named(settings, _CREDENTIALS)
    if not found.keys() >= _KEY_PAIR:
        raise InputError(
            "--vended hands on the credentials in the storage options or in AWS_ACCESS_KEY_ID "
            "and AWS_SECRET_ACCESS_KEY, and there are none. A machine's role can't be handed on: "
            "leave --vended out, and give clients access to the files themselves."
        )
    return found


def _settings(given: Mapping[str, str], only: str = "") -> dict[str, str]:
    """Return settings by their names in lower case, without `aws_`."""
    return {
        key.lower().removeprefix("aws_"): str(value)
        for key, value in given.items()
        if key.lower().startswith(only) and value
    }


def _named(settings: Mapping[str, str], names: Mapping[str, str]) -> dict[str, str]:
    """Return settings under the names of Iceberg's clients; of several the first one counts."""
    found: dict[str, str] = {}
    for key, name in names.items():
        if key in settings:
            found.setdefault(name, settings[key])
    return found
