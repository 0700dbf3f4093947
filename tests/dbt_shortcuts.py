"""Shortcuts through dbt that change no result, for processes with hundreds of commands."""

import json
from types import SimpleNamespace
from typing import IO, Any

from dbt_common.behavior_flags import BehaviorFlagRendered
from dbt_common.clients import system


def spare_dbt() -> None:
    """Spare dbt what each command repeats at length.

    It encodes manifests in Python, which `json.dumps` does in C. And for each flag of behaviour it
    reads the source of everything that called it, pytest included, to name the flag's author.
    """
    system.json = SimpleNamespace(load=json.load, loads=json.loads, dumps=json.dumps, dump=_dump)
    BehaviorFlagRendered._default_source = staticmethod(lambda: "tests")


def _dump(value: Any, file: IO[str], **options: Any) -> None:
    file.write(json.dumps(value, **options))
