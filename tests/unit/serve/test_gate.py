"""Who may ask: tokens with roles on branches, and this machine alone without them."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.iceberg.serve.access import TokenList, read_tokens
from tests.unit.serve.conftest import Open
from tests.unit.warehouse import Warehouse

SECRETS = {"dash": "s3cr3t-dash", "load": "s3cr3t-load", "all": "s3cr3t-all"}


def digest(name: str) -> str:
    return hashlib.sha256(SECRETS[name].encode()).hexdigest()


@pytest.fixture
def tokens(tmp_path: Path) -> TokenList:
    path = tmp_path / "tokens.yml"
    path.write_text(
        f"""
tokens:
  - {{name: dash, sha256: {digest("dash")}, role: reader, branches: [main, "release/*"]}}
  - {{name: load, sha256: {digest("load").upper()}, role: reader}}
  - {{name: load, sha256: {digest("load")}, role: writer, branches: ["feature/*"]}}
  - {{name: all, sha256: {digest("all")}, role: reader}}
"""
    )
    return read_tokens(path)


def test_a_request_needs_a_token_that_is_known(client_of: Open, tokens: TokenList) -> None:
    for client in (client_of(tokens), client_of(tokens, "wrong"), client_of(tokens, "")):
        for path in ("/v1/config", "/v1/main/namespaces", "/metrics", "/nix"):
            found = client.get(path)
            assert found.status_code == 401
            assert found.json()["error"]["type"] == "NotAuthorizedException"
            assert found.headers["WWW-Authenticate"] == "Bearer"
    assert client_of(tokens, SECRETS["all"]).get("/v1/config").status_code == 200
    basic = client_of(tokens).get("/v1/config", headers={"Authorization": "Basic YTpi"})
    assert basic.status_code == 401


def test_a_probe_needs_no_token(client_of: Open, tokens: TokenList) -> None:
    found = client_of(tokens).get("/health")
    assert (found.status_code, found.text) == (200, "ok\n")
    assert client_of(tokens).post("/v1/oauth/tokens").status_code == 400


@pytest.mark.parametrize(
    ("revision", "may"),
    [
        ("main", True),
        ("main~1", True),
        ("main@{0}", True),
        ("heads/main", True),
        ("release/1", True),
        ("dev", False),
        ("dev~1", False),
        ("heads/dev", False),
        ("v1", False),
        ("tags/v1", False),
        ("release/2", False),
        ("heads/release/2", True),
    ],
)
def test_a_token_for_some_branches_reads_these_and_their_history(
    warehouse: Warehouse, client_of: Open, tokens: TokenList, revision: str, may: bool
) -> None:
    warehouse.put(a="1")
    for name in ("dev", "release/1", "release/2"):
        warehouse.branch(name)
        warehouse.put(name, a="2")
    dev = warehouse.head("dev")
    warehouse.repository.create_tag("v1", dev, author="ann")
    # A tag hides a branch of its name, and would lead elsewhere.
    warehouse.repository.create_tag("release/2", dev, author="ann")
    client = client_of(tokens, SECRETS["dash"])
    found = client.get("/v1/config", params={"warehouse": revision})
    assert found.status_code == (200 if may else 403)
    assert client.get("/v1/config", params={"warehouse": dev}).status_code == 403
    assert client.get("/v1/dev/namespaces").status_code == 403
    assert client.get("/v1/namespaces").json()["namespaces"] == [
        ["main"],
        ["release/1"],
        ["release/2"],
    ]
    assert client.get("/v1/namespaces?parent=dev").status_code == 403
    assert client.get("/v1/namespaces/dev%1Fshop/tables/a").status_code == 403


def test_grants_of_one_token_add_up(
    warehouse: Warehouse, client_of: Open, tokens: TokenList
) -> None:
    reader, writer = (client_of(tokens, SECRETS[name]) for name in ("all", "load"))
    assert writer.get("/v1/main/namespaces").status_code == 200
    path = "/v1/main/namespaces/shop/tables"
    refused = reader.post(path)
    assert refused.status_code == 403
    assert "role reader" in refused.json()["error"]["message"]
    # It writes to other branches.
    assert writer.post(path).status_code == 403


def test_without_tokens_only_this_machine_is_answered(client_of: Open) -> None:
    for name in ("localhost:8181", "127.0.0.1", "[::1]:8181", "LOCALHOST"):
        assert client_of(base_url=f"http://{name}").get("/v1/config").status_code == 200
    for name in ("evil.example", "127.0.0.1.evil.example", "evil.example:8181"):
        found = client_of(base_url=f"http://{name}").get("/v1/config")
        assert found.status_code == 403
        assert "--tokens" in found.json()["error"]["message"]


def test_with_tokens_any_name_of_the_machine_is_answered(
    client_of: Open, tokens: TokenList
) -> None:
    client = client_of(tokens, SECRETS["all"], "http://catalog.example")
    assert client.get("/v1/config").status_code == 200


def test_every_request_is_one_line_of_the_log_without_what_is_secret(
    warehouse: Warehouse, client_of: Open, tokens: TokenList, lines: list[str]
) -> None:
    warehouse.put(a="1")
    client = client_of(tokens, SECRETS["all"], config={"s3.secret-access-key": "hush"})
    client.get("/v1/main/namespaces/shop/tables/a?token=hush")
    client.get("/v1/main%0Anext/namespaces")
    client_of(tokens, "wr0ng").get("/v1/config")
    first, second, third = lines
    assert " all GET /v1/main/namespaces/shop/tables/a 200 " in first
    assert " all GET /v1/main%0Anext/namespaces 404 " in second
    assert " - GET /v1/config 401 " in third
    everything = "\n".join(lines)
    assert not any(secret in everything for secret in (*SECRETS.values(), "hush", "wr0ng"))


def test_figures_count_requests_by_route_and_the_cache(
    warehouse: Warehouse, client_of: Open
) -> None:
    warehouse.put(a="1")
    client = client_of()
    for _ in range(3):
        client.get("/v1/main/namespaces/shop/tables/a")
    client.get("/v1/main/namespaces/shop/tables/nix")
    client.get("/elsewhere/of/main")
    found = client.get("/metrics")
    assert found.headers["Content-Type"].startswith("text/plain")
    route = 'route="/v1/{prefix}/namespaces/{namespace}/tables/{table}"'
    shown = found.text.splitlines()
    assert f'dbt_vcs_requests_total{{method="GET",{route},status="200"}} 3.0' in shown
    assert f'dbt_vcs_requests_total{{method="GET",{route},status="404"}} 1.0' in shown
    assert 'dbt_vcs_requests_total{method="GET",route="other",status="404"} 1.0' in shown
    assert "dbt_vcs_cache_hits 2.0" in shown
    assert "dbt_vcs_cache_misses 1.0" in shown
    assert "main" not in found.text and "shop" not in found.text


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "lists no tokens"),
        ("tokens: []", "lists no tokens"),
        ("tokens: [a]", "must have name, sha256, role"),
        ("tokens: [{name: a, role: reader, token: hush}]", "must have name"),
        ("tokens: [{name: a, role: reader, sha256: hush}]", "needs the sha256"),
        ("tokens: [{name: 'a b', role: reader, sha256: D}]", "needs a name"),
        ("tokens: [{name: a, role: admin, sha256: D}]", "one of reader, writer"),
        ("tokens: [{name: a, role: reader, sha256: D, branches: main}]", "must be a list"),
        (
            "tokens: [{name: a, role: reader, sha256: D}, {name: b, role: reader, sha256: D}]",
            "of another name",
        ),
        ("tokens: [", "not valid YAML"),
    ],
)
def test_a_file_of_tokens_that_is_wrong_is_refused_without_its_values(
    tmp_path: Path, text: str, told: str
) -> None:
    path = tmp_path / "tokens.yml"
    path.write_text(text.replace("D", "d" * 64))
    with pytest.raises(InputError, match=told) as caught:
        read_tokens(path)
    assert "hush" not in str(caught.value)


def test_a_file_of_tokens_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Can't read the tokens"):
        read_tokens(tmp_path / "nix.yml")
