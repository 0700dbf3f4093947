"""A server that runs: what it says, whom it answers, and how it stops."""

from __future__ import annotations

import datetime
import hashlib
import http.client
import ipaddress
import json
import os
import re
import signal
import socket
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import ForbiddenError, UnauthorizedError

from dbt.adapters.vcs.cli import main
from dbt.adapters.vcs.core.store.opening import open_blobs
from tests.unit.serve.server_process import ServerProcess, serving
from tests.unit.warehouse import Warehouse

TOKEN = "s3cr3t-of-dash"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a repository, tokens and a certificate."""
    folder = tmp_path_factory.mktemp("serving")
    warehouse = Warehouse(open_blobs(str(folder / "lake"), {"fsync": "false"}))
    warehouse.put(schema="s", orders="1 2")
    warehouse.branch("dev")
    digest = hashlib.sha256(TOKEN.encode()).hexdigest()
    tokens = f"tokens:\n- {{name: dash, sha256: {digest}, role: reader, branches: [main]}}\n"
    (folder / "tokens.yml").write_text(tokens)
    write_certificate(folder)
    return folder


def write_certificate(folder: Path) -> None:
    """Write a certificate of this machine that it signs itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now, day = datetime.datetime.now(datetime.timezone.utc), datetime.timedelta(days=1)
    here = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - day)
        .not_valid_after(now + day)
        .add_extension(x509.SubjectAlternativeName([here]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    (folder / "chain.pem").write_bytes(made.public_bytes(pem))
    (folder / "key.pem").write_bytes(
        key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )


@pytest.fixture(scope="module")
def secured(folder: Path) -> Iterator[ServerProcess]:
    options = ("--tokens", "tokens.yml", "--certificate", "chain.pem", "--key", "key.pem")
    given = [str(folder / text) if "." in text else text for text in options]
    with serving(folder / "lake", *given) as running:
        yield running


@pytest.fixture(autouse=True)
def no_other_trust(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the environment trusts would go before what a client is told to."""
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)


def secured_catalog(server: ServerProcess, folder: Path, **asked: str) -> RestCatalog:
    trusted: Any = {"cabundle": str(folder / "chain.pem")}
    return RestCatalog("vcs", uri=server.url, ssl=trusted, **asked)


def test_a_client_with_a_token_reads_over_tls(secured: ServerProcess, folder: Path) -> None:
    assert re.fullmatch(r"https://127\.0\.0\.1:\d+", secured.url)
    catalog = secured_catalog(secured, folder, warehouse="main", token=TOKEN)
    assert catalog.load_table("s.orders").scan().to_arrow().num_rows == 10


def test_a_client_with_a_wrong_token_or_for_another_branch_is_refused(
    secured: ServerProcess, folder: Path
) -> None:
    with pytest.raises(UnauthorizedError, match="none of this catalog's"):
        secured_catalog(secured, folder, warehouse="main", token="wr0ng")
    with pytest.raises(ForbiddenError, match="'dash' reads the branches main"):
        secured_catalog(secured, folder, warehouse="dev", token=TOKEN)
    with pytest.raises(Exception, match="hands out no tokens"):
        secured_catalog(secured, folder, warehouse="main", credential=f"a:{TOKEN}")
    # Lines are written once an answer is sent.
    secured_catalog(secured, folder, token=TOKEN)
    said = "".join(secured.lines)
    assert " dash GET /v1/config 403 " in said
    assert TOKEN not in said and "wr0ng" not in said


def test_plain_http_is_not_answered_where_there_is_tls(secured: ServerProcess) -> None:
    port = int(secured.url.rpartition(":")[2])
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    with pytest.raises((http.client.HTTPException, OSError)):
        connection.request("GET", "/health")
        connection.getresponse()
    connection.close()
    context = ssl.create_default_context()
    over_tls = http.client.HTTPSConnection("127.0.0.1", port, timeout=30, context=context)
    with pytest.raises(ssl.SSLCertVerificationError):
        over_tls.request("GET", "/health")


def test_a_server_that_is_stopped_ends_well(folder: Path) -> None:
    with serving(folder / "lake") as server:
        host, port = server.url.removeprefix("http://").split(":")
        # A connection that a client keeps open doesn't keep the server.
        with socket.create_connection((host, int(port)), timeout=30) as asking:
            asking.sendall(b"GET /v1/main/namespaces HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert asking.recv(12) == b"HTTP/1.1 200"
            assert server.stop(signal.SIGTERM) == 0
        assert server.lines[-1] == "Stopped.\n"
        assert " GET /v1/main/namespaces 200 " in "".join(server.lines)


Call = Callable[..., click.testing.Result]


@pytest.fixture
def call(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    monkeypatch.chdir(folder)
    for name in [name for name in os.environ if name.startswith(("DBT_", "AWS_"))]:
        monkeypatch.delenv(name)

    def run(*arguments: str, code: int = 0) -> click.testing.Result:
        result = CliRunner().invoke(main, ["-r", "lake", "serve", *arguments])
        assert result.exit_code == code, result.output
        return result

    return run


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "catalog.example"])
def test_others_are_served_only_with_tokens(call: Call, host: str) -> None:
    told = call("--host", host, code=2).output
    assert f"anybody who reaches {host} could read every branch" in told


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--key", "key.pem"], "takes both --certificate and --key"),
        (["--certificate", "key.pem", "--key", "key.pem"], "can't be used"),
        (["--tokens", "nix.yml"], "Can't read the tokens"),
        (["--vended"], "hands credentials of S3 on"),
        (["--check", "--port", "0"], "Give the port"),
    ],
)
def test_settings_that_are_wrong_are_refused_before_anything_starts(
    call: Call, options: list[str], told: str
) -> None:
    assert told in call(*options, code=2).output


def test_what_clients_type_names_the_address_and_a_table_that_is_there(call: Call) -> None:
    shown = call("--check", "--port", "9191").output
    for name in ("Spark", "Trino", "DuckDB", "PyIceberg", "Snowflake"):
        assert f"{name}\n" in shown
    assert shown.count("http://127.0.0.1:9191") == 5
    assert "attach 'main' as vcs (type iceberg, endpoint 'http://127.0.0.1:9191'" in shown
    assert "select * from vcs.s.orders;" in shown
    assert "TOKEN" not in shown.partition("Snowflake")[0]


def test_what_clients_type_has_a_token_and_tls_where_the_server_has(call: Call) -> None:
    options = ["--tokens", "tokens.yml", "--certificate", "chain.pem", "--key", "key.pem"]
    found = json.loads(call("--check", "--json", "--host", "0.0.0.0", *options).output)
    assert [item["client"] for item in found] == [
        "Spark",
        "Trino",
        "DuckDB",
        "PyIceberg",
        "Snowflake",
    ]
    for item in found:
        text = "\n".join(item["lines"])
        assert "https://" in text and "TOKEN" in text
        # Nobody can reach that address: it stands for all of this machine's.
        assert "0.0.0.0" not in text


def test_what_clients_type_changes_rows_too(call: Call) -> None:
    def writes(*options: str) -> dict[str, str]:
        found = json.loads(call("--check", "--json", *options).output)
        return {item["client"]: "\n".join(item["writes"]) for item in found}

    shown = writes()
    for client in ("Spark", "Trino", "DuckDB"):
        for verb in ("insert into", "update", "delete from", "merge into"):
            assert f"{verb} vcs.s.orders " in shown[client]
    assert "table.append(" in shown["PyIceberg"]
    assert "does not write them" in writes("--format-version", "3")["PyIceberg"]
    assert "not been tried" in shown["Snowflake"]
    assert "insert into vcs.s.orders values (...);" in call("--check").output
    assert "role writer" in writes("--tokens", "tokens.yml")["DuckDB"]
    runner = CliRunner()
    assert runner.invoke(main, ["-r", "lake", "branch", "protect", "main"]).exit_code == 0
    protected = writes()
    assert runner.invoke(main, ["-r", "lake", "branch", "unprotect", "main"]).exit_code == 0
    for client in ("Spark", "Trino", "DuckDB", "PyIceberg"):
        assert "dbt-vcs branch create NAME main" in protected[client]
        assert "insert" not in protected[client] and "append" not in protected[client]


def test_what_pyiceberg_is_told_to_type_works(call: Call, folder: Path) -> None:
    with serving(folder / "lake") as server:
        port = server.url.rpartition(":")[2]
        found = json.loads(call("--check", "--json", "--port", port).output)
        (lines,) = (item["lines"] for item in found if item["client"] == "PyIceberg")
        scope: dict[str, Any] = {}
        exec("\n".join(lines[:-1]), scope)
        assert eval(lines[-1], scope).num_rows == 10


def test_a_package_that_is_missing_is_named_with_what_to_install(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dbt.adapters.vcs.commands import serve as serve_command

    found = serve_command.find_spec
    monkeypatch.setattr(
        serve_command, "find_spec", lambda name: None if name == "uvicorn" else found(name)
    )
    told = call("--check", code=2).output
    assert "not installed: uvicorn" in told and "pip install 'dbt-vcs[serve]'" in told
