"""How often Java is called for a query that is analysed and written."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from py4j.clientserver import ClientServerConnection

from dbt.adapters.vcs.engines.port import Destination

from .bench import Bench

pytestmark = pytest.mark.spark


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Return the list of what is sent to Java from now on."""
    sent: list[str] = []
    plain = ClientServerConnection.send_command

    def send_command(self: ClientServerConnection, command: str) -> str:
        sent.append(command)
        return plain(self, command)

    monkeypatch.setattr(ClientServerConnection, "send_command", send_command)
    return sent


WIDE = ", ".join(f"id + {n} as c{n}" for n in range(20))


def test_a_text_is_sent_once_and_a_column_costs_few_calls(
    bench: Bench, commands: list[str]
) -> None:
    bench.write("select 1 as a")
    commands.clear()
    narrow = bench.session.analysed("select id from range(2)")
    narrow.write(Destination(folder=bench.folder()))
    assert narrow.is_repeatable()
    calls = [command for command in commands if command[0] != "m"]
    assert sum("select id from range(2)" in call for call in calls) == 1
    commands.clear()
    bench.session.analysed(f"select {WIDE} from range(2)").write(
        Destination(folder=bench.folder())
    )
    # Twenty columns; PySpark's own way took 27 for each.
    assert len([command for command in commands if command[0] != "m"]) < len(calls) + 20 * 8
