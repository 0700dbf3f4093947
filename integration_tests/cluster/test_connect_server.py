"""The demo project over Spark Connect, on a server of PySpark's own files; TLS and a token."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from demo.steps import Demo

from tests.connect_server import connect_server
from tests.functional.life.shop import Shop, make_shop

from .daemons import run_of
from .demo_checks import check_demo
from .tls_front import HOST, Front, tls_front

TOKEN = "not;to=be%seen"
ROOTS = "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH"


def test_the_demo_is_built_changed_and_merged(tmp_path: Path) -> None:
    with connect_server(tmp_path / "server") as address:
        demo = Demo(tmp_path / "demo", print)
        check_demo(demo, {"spark.remote": address}, method="connect")


@pytest.fixture(scope="module")
def front(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    """Where TLS ends, in front of a server that wants a token."""
    folder = tmp_path_factory.mktemp("server")
    settings = {"spark.connect.authenticate.token": TOKEN}
    with (
        connect_server(folder, settings=settings) as address,
        tls_front(folder, int(address.rpartition(":")[2])) as front,
    ):
        yield front


def shop_behind(front: Front, folder: Path, **profile: object) -> Shop:
    """Return a project whose profile names the server and its token, or says otherwise."""
    server = {"method": "connect", "host": HOST, "port": front.port, "spark_config": {}}
    return make_shop(folder, **{**server, "token": TOKEN, **profile})


def test_dbt_builds_behind_tls_with_a_token(
    front: Front, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ROOTS, str(front.certificate))
    shop = shop_behind(front, tmp_path)
    code, said = run_of(shop.start("build", n=2))
    assert code == 0, said
    assert shop.relations() == {"analytics.a", "analytics.b"}
    assert_unseen(shop, said)


@pytest.mark.parametrize("profile", [{"token": "other" + TOKEN}, {"token": None, "use_ssl": True}])
def test_another_token_or_none_is_refused(
    front: Front, tmp_path: Path, profile: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ROOTS, str(front.certificate))
    shop = shop_behind(front, tmp_path, **profile)
    code, said = run_of(shop.start("build"))
    assert code == 1
    assert f"The Spark Connect server at sc://{HOST}:{front.port} refused the caller" in said
    assert_unseen(shop, said)


@pytest.mark.parametrize("profile", [{}, {"token": None}, {"token": None, "use_ssl": True}])
def test_a_server_that_nobody_vouches_for_gets_no_token(
    front: Front, tmp_path: Path, profile: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(ROOTS, raising=False)
    shop = shop_behind(front, tmp_path, **profile)
    code, said = run_of(shop.start("build"))
    assert code == 1
    assert "does not answer. Check host, port and use_ssl" in said
    assert_unseen(shop, said)


def assert_unseen(shop: Shop, said: str) -> None:
    """Require that the token is in nothing that was printed, logged or stored."""
    written = [path for path in shop.root.rglob("*") if path.is_file()]
    texts = {str(path): path.read_bytes() for path in written if path.name != "profiles.yml"}
    for place, text in {**texts, "printed": said.encode()}.items():
        assert TOKEN.encode() not in text, place
        assert b"not%3Bto%3Dbe" not in text, place
