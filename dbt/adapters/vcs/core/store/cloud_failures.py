"""The errors of obstore, turned into those of the operating system, and then into ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError
from obstore.exceptions import NotFoundError as StoreNotFoundError

from dbt.adapters.vcs.core.secrets import without_secrets
from dbt.adapters.vcs.core.store.failures import translated


@contextmanager
def translated_cloud(verb: str, path: str, uri: str) -> Iterator[None]:
    """Turn errors of obstore inside the block into ours, as `translated` does for other errors."""
    with translated(verb, path, uri):
        try:
            yield
        except StoreNotFoundError as error:
            raise FileNotFoundError(_text(error)) from None
        except (PermissionDeniedError, UnauthenticatedError) as error:
            raise PermissionError(_text(error)) from None
        except BaseError as error:
            raise OSError(_text(error)) from None


def _text(error: BaseError) -> str:
    # The text of the original may hold a signed URL, which a traceback would show.
    return without_secrets(str(error).strip()) or type(error).__name__
