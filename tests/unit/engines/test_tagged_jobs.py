"""What a server's errors become, and what is said where there is no client."""

import sys

import pytest

from dbt.adapters.vcs.core.errors import EngineError, InputError
from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.engines.connect.connect_engine import _client
from dbt.adapters.vcs.engines.connect.tagged_jobs import ServerErrors
from dbt.adapters.vcs.engines.dataframes.name_registry import NameRegistry, missing
from dbt.adapters.vcs.engines.engine_errors import StatementError
from dbt.adapters.vcs.engines.methods import ServerAddress

TOKEN = "s3cret-token"


class _Error(Exception):
    code_name = "INTERNAL"

    def getGrpcStatusCode(self) -> object:
        return type("Code", (), {"name": self.code_name})

    def getStackTrace(self) -> str:
        return "a.B\n\tat a.b.C\nCaused by: java.io.IOException: no disk\n\tat a.b.D"


_Error.__module__ = "pyspark.errors.exceptions.connect"


def raised(message: str, code: str = "INTERNAL") -> EngineError:
    registry = NameRegistry()
    registry.label("__vcs_v_m1", RelationName("shop", "orders"))
    errors = ServerErrors(ServerAddress(f"sc://there/;token={TOKEN}"), registry.own_words)
    error = _Error(message)
    error.code_name = code
    with pytest.raises(EngineError) as caught, errors.translated():
        raise error
    return caught.value


def test_a_message_has_the_branchs_names_and_neither_plan_nor_stack() -> None:
    error = raised(
        "[UNRESOLVED_COLUMN] no `x` in `__vcs_v_m1`. SQLSTATE: 1; line 1 pos 14;\n"
        "'Project ['x]\n+- View (`__vcs_v_m1`)\n\nJVM stacktrace:\na.B\n\tat a.b.C"
    )
    assert isinstance(error, StatementError) and error.condition == "UNRESOLVED_COLUMN"
    assert str(error) == (
        "[UNRESOLVED_COLUMN] no `x` in `shop`.`orders`. SQLSTATE: 1; line 1 pos 14\nCause: no disk"
    )


def test_a_name_that_the_branch_lacks_is_told_as_it_was_written() -> None:
    sent = missing(RelationName("shop", "nope"))
    error = raised(f"[TABLE_OR_VIEW_NOT_FOUND] The table or view {sent} cannot be found.")
    assert "table or view `shop`.`nope` cannot be found" in str(error)


@pytest.mark.parametrize(
    ("code", "words"),
    [("UNAVAILABLE", "does not answer"), ("UNAUTHENTICATED", "refused the caller")],
)
def test_a_server_that_is_not_there_or_refuses(code: str, words: str) -> None:
    assert words in str(raised(f"failed with {TOKEN}", code))


@pytest.mark.parametrize("code", ["INTERNAL", "UNAVAILABLE", "UNAUTHENTICATED"])
@pytest.mark.parametrize("message", [f"sent {TOKEN}", f"INVALID_HANDLE.SESSION_CLOSED {TOKEN}"])
def test_a_token_is_in_no_error(code: str, message: str) -> None:
    assert TOKEN not in str(raised(message, code))


def test_what_to_install_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(sys.modules):
        if name.startswith(("pyspark.sql.connect", "grpc")):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "grpc", None)
    # PySpark takes a program without a file for a doctest of its own, and ends it.
    monkeypatch.setattr(sys.modules["__main__"], "__file__", "main.py", raising=False)
    with pytest.raises(InputError, match=r"pip install 'dbt-vcs\[connect\]'"):
        _client()


def test_a_client_without_hooks_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class OldSession:
        def __init__(self, connection: str) -> None:
            raise AssertionError("not reached")

    monkeypatch.setattr("pyspark.sql.connect.session.SparkSession", OldSession)
    with pytest.raises(
        InputError, match=r"newer PySpark than .*pip install --upgrade 'pyspark<5'"
    ):
        _client()
