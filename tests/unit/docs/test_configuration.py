"""docs/configuration.md: its tables are those of the code, and no setting is missing."""

from __future__ import annotations

import importlib.util
import re
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import dbt.include.spark
import pytest

DOCS = Path(__file__).parents[3] / "docs"
MACROS = DOCS.parent / "macros"
PAGE = (DOCS / "configuration.md").read_text(encoding="utf-8")
READ = re.compile(r"""config\.(?:get|require)\(\s*['"](\w+)['"]""")


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_what_the_code_says(generate: ModuleType) -> None:
    assert generate.page(PAGE) == PAGE, "Run python docs/generate.py, and commit what it changes."


def test_a_table_that_is_out_of_date_is_rewritten(generate: ModuleType) -> None:
    stale = PAGE.replace("| `base` | `main` |", "| `base` | `trunk` |")
    assert stale != PAGE
    assert generate.page(stale) == PAGE


@pytest.mark.parametrize("folder", [MACROS, Path(dbt.include.spark.PACKAGE_PATH) / "macros"])
def test_every_config_that_a_macro_reads_is_on_the_page(folder: Path) -> None:
    texts = [path.read_text(encoding="utf-8") for path in folder.rglob("*.sql")]
    read = {name for text in texts for name in READ.findall(text)}
    assert {"partition_by", "unique_key"} <= read
    assert [name for name in sorted(read - NO_CONFIGS) if f"`{name}`" not in PAGE] == []


# What dbt itself sets on a node, for its own macros to read.
NO_CONFIGS = {"snapshot_table_column_names"}


def test_a_field_without_a_description_is_an_error(
    generate: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    @dataclass
    class Configs:
        """Configs.

        Attributes:
            depth: How deep.
        """

        depth: int = 1
        height: list[str] = field(default_factory=list)

    monkeypatch.setattr(generate, "VcsConfig", Configs)
    with pytest.raises(generate.UndescribedError, match="height"):
        generate.configs()


def test_a_property_without_a_description_is_an_error(
    generate: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(generate, "PACKAGE", tmp_path)
    (tmp_path / "a.py").write_text('A: Final = "vcs.deep"\n"""Table property: how deep."""\n')
    assert "| `vcs.deep` | How deep. |" in generate.properties()
    (tmp_path / "b.py").write_text('B: Final = "vcs.high"\n')
    with pytest.raises(generate.UndescribedError, match=r"vcs\.high"):
        generate.properties()
