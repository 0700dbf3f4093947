"""The stores that every contract test runs on."""

import threading
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.core.store.opening import open_blobs

STORES = ("memory", "local", "s3")

OpenBlobs = Callable[[], Blobs]


@pytest.fixture(scope="session")
def s3_endpoint() -> Iterator[str]:
    """A simulated S3 that serves one request at a time: its put-if-absent takes two steps."""
    application = DomainDispatcherApplication(create_backend_app)
    server = make_server("127.0.0.1", 0, application, threaded=False)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    endpoint = f"http://127.0.0.1:{server.port}"
    urllib.request.urlopen(urllib.request.Request(f"{endpoint}/bucket", method="PUT"))
    yield endpoint
    server.shutdown()
    thread.join()


@pytest.fixture
def s3_options(s3_endpoint: str) -> dict[str, str]:
    return {
        "aws_endpoint": s3_endpoint,
        "aws_region": "us-east-1",
        "aws_access_key_id": "testing",
        "aws_secret_access_key": "not-a-secret",
        "allow_http": "true",
    }


@pytest.fixture(params=STORES)
def reopen(request: pytest.FixtureRequest, tmp_path: Path) -> OpenBlobs:
    """A function that opens the same new, empty location as often as it is called."""
    if request.param == "memory":
        blobs = open_blobs("memory://")
        return lambda: blobs
    if request.param == "local":
        return lambda: open_blobs(str(tmp_path / "repository"))
    options = request.getfixturevalue("s3_options")
    uri = f"s3://bucket/{uuid.uuid4().hex}/repository"
    return lambda: open_blobs(uri, options)


@pytest.fixture
def blobs(reopen: OpenBlobs) -> Blobs:
    return reopen()


@pytest.fixture
def repository(blobs: Blobs) -> Repository:
    return Repository.create(blobs, author="ann")
