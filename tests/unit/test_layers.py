"""Source rules no linter checks: who may import whom."""

import ast
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
PACKAGE = "dbt.adapters.vcs"
SOURCES = sorted((CHECKOUT / PACKAGE.replace(".", "/")).rglob("*.py"))
MAX_COMPLEXITY = 15

# Lowest first. A module imports from lower rows only; neighbours on a row stay strangers.
FLOORS = (
    {"core"},
    {"layout", "variables", "storage_configs", "yaml_text"},
    {"statements", "rows"},
    {"runs", "engines"},
    {"credentials"},
    {"worktree"},
    {"diffs"},
    {"iceberg"},
    {"scope"},
    {"writes"},
    {"merges"},
    {"handlers"},
    {"reuse"},
    {"workspace"},
    {"verbs"},
    {"text"},
    {"client"},
    {"serve"},
    {"project", "api", "configs", "relation", "column"},
    {"connections"},
    {"cli"},
    {"impl"},
)
# The same inside a room, for its sub-rooms and modules, where they have an order.
INSIDE: dict[str, tuple[set[str], ...]] = {
    "core": (
        {"characters", "errors", "ids", "secrets"},
        {"model"},
        {"codec"},
        {"store", "history", "plan"},
        {"treereader", "commit_graph", "retry", "presence"},
        {"branches", "turns"},
        {"landing", "resolver", "snapshotnames"},
        {"maintenance"},
        {"repository"},
        {"tableversions", "retention", "origins"},
        {"collection"},
    ),
    "core.model": (
        {"data_type", "value"},
        {"field_number", "ref", "schema", "tree", "view"},
        {"function", "segment"},
        {"snapshot"},
        {"commit"},
    ),
    "core.store": (
        {"blobs", "branch_names", "cache", "chain", "each", "reach"},
        {"condemned", "failures", "header", "lease", "write_once"},
        {"memory", "objects"},
        {"forwards", "set_aside"},
        {"cloud", "refs"},
        {"log_repair"},
        {"local"},
        {"opening"},
    ),
    "statements": (
        {"statement"},
        {"syntax"},
        {"families", "reader_registry"},
        {"readers"},
        {"parser"},
    ),
    "statements.syntax": (
        {"column_clauses", "lexer", "literals"},
        {"excerpts", "names", "outside", "text_places"},
        {"diff_call", "relations"},
        {"calls", "canonical", "scan"},
        {"mentions", "query"},
        {"conjuncts", "cursor"},
        {"expressions"},
        {"condition_tree", "conditions"},
    ),
    "statements.families": (
        {
            "alter",
            "command",
            "function_statement",
            "insert",
            "schema_statement",
            "show",
            "staging_sql",
            "table",
            "versioning",
            "optimize_statement",
        },
        {"merge_sql"},
        {"row_change"},
    ),
    "statements.readers": (
        {"check_reader", "row_change_reader", "type_reader"},
        {"clauses"},
        {
            "function_reader",
            "insert_reader",
            "table_reader",
            "versioning_reader",
            "optimize_reader",
        },
        {"create_reader"},
        {"alter_reader", "drop_reader", "show_reader"},
    ),
    "rows": (
        {
            "equality",
            "file_numbers",
            "limits",
            "manifests",
            "partition_values",
            "position_bitmaps",
            "positions",
            "python_values",
            "quoting",
            "sorted_numbers",
        },
        {"declared_types", "equality_sql", "types"},
        {"exact_values"},
        {"fitted_rows", "key_values"},
        {"files"},
        {"compare", "deletion_bitmap", "key_check"},
    ),
    "rows.files": (
        {"blob_file", "bounds", "column_stats", "file_digests", "numbered_columns"},
        {"footers"},
        {"parquet"},
        {"block_reader", "file_check", "row_files", "tombstone_files"},
        {"filtering", "rewrite"},
    ),
    "engines": (
        {
            "engine_errors",
            "installed_spark",
            "running_tasks",
            "server_address",
            "temporaries",
            "version_mounts",
        },
        {"methods", "port"},
        {"dataframes", "found_places"},
        {"connect", "spark"},
        {"factory"},
    ),
    "engines.connect": (
        {"mentioned_functions", "name_registry", "scratch_schema", "sent_text", "server_errors"},
        {"own_temporaries", "session_views", "tagged_jobs"},
        {"session_functions"},
        {"session_text"},
        {"server_frames", "staged_insert"},
        {"connect_session"},
        {"connect_engine"},
    ),
    "engines.dataframes": (
        {
            "frame_api",
            "function_definition",
            "hadoop_storage",
            "location",
            "repeatable",
            "session_settings",
            "statement_jobs",
        },
        {"mounts", "numbered_frames", "shared_folder", "spark_messages", "spark_rows"},
        {"frame_session", "worker_handlers"},
        {"programs"},
        {"writes"},
    ),
    "engines.dataframes.mounts": (
        {"deleted_places", "deletions", "layouts"},
        {"table_part"},
        {"mounting"},
    ),
    "engines.spark": (
        {"process"},
        {"carried_rows"},
        {"context"},
        {"catalog_signs", "function_builders"},
        {"bypassed", "shared_arrays"},
        {"catalog_relations"},
        {"catalog"},
        {"spark_functions"},
        {"session"},
        {"engine"},
    ),
    "iceberg": (
        {
            "avro_files",
            "bound_bytes",
            "iceberg_types",
            "metadata_place",
            "pending_files",
            "puffin_files",
            "shown_history",
        },
        {"manifest_files"},
        {"client_manifests", "data_entries", "listed_version"},
        {"data_manifests"},
        {"delete_manifests"},
        {"deletion_vectors"},
        {"manifest_lists"},
        {"metadata_refs"},
        {"export_folder", "table_metadata", "view_metadata"},
        {"branch_export"},
    ),
    "diffs": (
        {"change_summary", "diff_query", "matched_columns", "row_diff", "three_plan"},
        {"scanned_changes", "shapes"},
        {"difference", "three_way"},
        {"diff_inputs", "summaries"},
    ),
    "writes": (
        {"row_filters"},
        {
            "defaults",
            "keys",
            "nullability",
            "pruning",
            "targets",
            "tombstone_ranges",
        },
        {"checks"},
        {"versions"},
        {"arrow_blocks", "stage"},
        {"rebuild_stage", "stage_arrow", "stage_spark"},
        {"stage_write"},
        {"rebuild", "upsert"},
    ),
    "merges": (
        {"export_rules", "rowwise"},
        {"by_engine"},
        {"narrow_spark"},
        {"common_base", "conflicts"},
        {"protection", "table_merge"},
        {"consumed_sides", "table_merges"},
        {"trees"},
        {"merge_plan"},
        {"stale_by_merge"},
        {"read_set_check"},
        {"branch_landing"},
    ),
    "handlers": (
        {"handler_registry"},
        {"catalog", "contents"},
        {"versions"},
        {"definitions"},
    ),
    "reuse": (
        {
            "answer_rows",
            "circumstances",
            "outside_files",
            "python_purity",
            "same_rows",
        },
        {"contents"},
        {"derivation_key"},
        {"audit", "statement_keys", "taken_versions"},
        {"reuser"},
        {"attempt"},
    ),
    "project.building": (
        {"node_step", "python_models", "reuse_modes", "seed_rows"},
        {"seeding"},
    ),
    "workspace": (
        {
            "rebase",
        },
        {"dispatch", "lines", "run_line"},
        {"line_workspace"},
        {"direct", "upkeep"},
    ),
    "verbs": (
        {"left_runs", "revision_names", "row_set", "sessions"},
        {"bisecting", "reading", "reusing", "sources"},
        {"changing", "refs"},
        {"erasing", "upkeep"},
    ),
    "verbs.changing": (
        {"client_blocks", "client_deletes", "client_merge", "merge", "restore", "write_rows"},
        {"equality_deletes"},
        {"adopt", "clone", "promote", "resolve", "revert"},
    ),
    "verbs.upkeep": (
        {
            "catalog_client",
            "data_check",
            "old_results",
            "optimize",
            "sighting",
            "status",
        },
        {"catalog_registration"},
        {"export", "fsck", "gc"},
        {"copy", "standing_up"},
        {"fetch"},
    ),
    "verbs.reading": (
        {
            "diff_range",
            "diff_report",
            "log",
            "reflog",
            "show_commit",
            "stale",
            "waiting_merges",
        },
        {"blame", "lineage_tree", "relation_diff"},
        {"row_diffs"},
        {"diff"},
    ),
    "text": (
        {
            "causes",
            "change_text",
            "purge_text",
            "row_text",
            "run_text",
            "upkeep_text",
        },
        {
            "commit_text",
            "conflict_text",
            "history_text",
            "merge_text",
        },
        {"diff_text"},
    ),
    "project": (
        {
            "externals",
            "freshness",
            "invocation",
            "manifest",
            "operations_in_runs",
            "statistics",
            "target_branch",
        },
        {"advice", "building", "dbt_catalog", "resumed_run"},
        {"early_start", "healing", "publishing"},
        {"publication"},
        {"run"},
        {"environment", "events"},
    ),
    "client": (
        {"lazy_table"},
        {"duck_views", "given_frames", "row_output"},
    ),
    "serve": (
        {"client_help", "rest_error"},
        {"bearer", "documents", "http_server", "request_names"},
        {"catalog_view", "iceberg_documents", "observed", "rest_answers", "token_file"},
        {"gate", "writing"},
        {"catalog_api"},
        {"rest_app"},
        {"start"},
    ),
    "serve.writing": (
        {"commit_request"},
        {"branch_writer", "client_properties", "iceberg_columns", "requirements"},
        {"column_updates", "name_changes"},
        {"table_definitions"},
        {"table_commits", "view_commits"},
        {"write_api"},
    ),
    "cli": (
        {
            "activity",
            "conflict_mode",
            "failure",
            "forms",
            "options",
            "output",
            "pairs",
            "progress_line",
        },
        {"json_text", "profile"},
        {"command_session", "groups"},
        {"reading", "refs", "changing", "upkeep", "machine"},
        {"root"},
        {"operations"},
    ),
    "cli.reading": (
        {
            "bisect_command",
            "blame_command",
            "cat_command",
            "conflicts_command",
            "diff_command",
            "lineage_command",
            "log_command",
            "reflog_command",
            "show_command",
            "sql_command",
            "stale_command",
        },
    ),
}
# They carry out any statement, or give a session away.
WHOLE_SESSIONS = (
    "scope.mounts",
    "scope.statement_scope",
    "verbs.sessions",
    "workspace.line_workspace",
)
CONCRETE = tuple(f"{PACKAGE}.engines.{room}" for room in ("connect", "dataframes", "spark"))
FOREIGN_TO_CORE = {"dbt", "dbt_common", "pyspark", "agate", "sqlglot"}


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(CHECKOUT).with_suffix("").parts).removesuffix(".__init__")


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imported_by(path: Path) -> frozenset[str]:
    names: set[str] = set()
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(names)


def rank(name: str, rows: tuple[set[str], ...]) -> int | None:
    return next((number for number, row in enumerate(rows) if name in row), None)


def rooms_of(dotted: str) -> Iterator[tuple[str, str]]:
    """Yield a module's rooms with its next part in each: ("", "core"), ("core", "store"), ..."""
    parts = dotted.removeprefix(PACKAGE).strip(".").split(".")
    for depth, part in enumerate(parts):
        yield ".".join(parts[:depth]), part


def floors_of(room: str) -> tuple[set[str], ...] | None:
    return INSIDE.get(room) if room else FLOORS


def climb(importer: str, imported: str) -> str | None:
    """Return the room in which an import doesn't point down, or None."""
    for (room, here), (other, there) in zip(rooms_of(importer), rooms_of(imported), strict=False):
        rows = floors_of(room)
        if room != other or rows is None:
            return None
        if here != there:
            above, below = rank(here, rows), rank(there, rows)
            # What isn't on a floor is a name in a module, or is outside the floors.
            return None if above is None or below is None or below < above else room or "the house"
    return None


def test_imports_point_down() -> None:
    climbing = [
        f"{here} must not import {name}: it isn't below, in {room}"
        for path in SOURCES
        for here in [module_of(path)]
        for name in imported_by(path)
        if name.startswith(f"{PACKAGE}.") and (room := climb(here, name)) is not None
    ]
    assert not climbing


def test_only_the_engines_know_a_concrete_one() -> None:
    known = [
        (module_of(path), name)
        for path in SOURCES
        if not module_of(path).startswith(f"{PACKAGE}.engines.")
        for name in imported_by(path)
        if name.startswith(CONCRETE)
    ]
    assert not known, "ask for a protocol of engines.port, or engines.factory for an engine"


def test_few_modules_ask_for_a_whole_session_of_an_engine() -> None:
    whole = {f"{PACKAGE}.engines.port.{name}" for name in ("Session", "Sessions")}
    asking = {module_of(path) for path in SOURCES if whole & imported_by(path)}
    known = {f"{PACKAGE}.{name}" for name in WHOLE_SESSIONS}
    assert asking == known, "ask for the protocols of engines.port that are used, or take it off"


@pytest.mark.parametrize("module", ["engines", "engines.port", "engines.factory", "credentials"])
def test_spark_is_not_loaded_before_an_engine_is_made(module: str) -> None:
    code = f"import sys, {PACKAGE}.{module}; print('pyspark' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout.strip() == b"False"


def test_every_module_has_a_place() -> None:
    # PACKAGE itself shows dbt where the adapter is; its version number is next to it.
    placed = {module_of(path) for path in SOURCES} - {PACKAGE, f"{PACKAGE}.__version__"}
    steps = sorted({step for module in placed for step in rooms_of(module)})
    assert not [
        f"{part} has no floor in {room}"
        for room, part in steps
        if (rows := floors_of(room)) is not None and rank(part, rows) is None
    ]


def test_floors_name_only_what_is_there() -> None:
    there = {step for path in SOURCES for step in rooms_of(module_of(path))}
    floors = {"": FLOORS, **INSIDE}
    named = {(room, part) for room, rows in floors.items() for row in rows for part in row}
    assert named <= there


def modules_by_room() -> dict[str, list[str]]:
    rooms: dict[str, list[str]] = {}
    for path in SOURCES:
        if path.name != "__init__.py":
            room, _, name = module_of(path).rpartition(".")
            rooms.setdefault(room.removeprefix(PACKAGE).strip("."), []).append(name)
    return rooms


def test_the_readme_names_every_room() -> None:
    readme = (CHECKOUT / "README.md").read_text()
    rooms = {path.parent.name for path in SOURCES if path.parents[1].name == "vcs"}
    assert all(f" {room}/" in readme for room in rooms - {"adapters"})


def test_no_two_public_classes_share_a_name() -> None:
    names = [
        node.name
        for path in SOURCES
        for node in parsed(path).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    ]
    assert [name for name, count in Counter(names).items() if count > 1] == []


def test_a_modules_name_is_its_own() -> None:
    names = sorted(name for names in modules_by_room().values() for name in names)
    assert names == sorted(set(names))


def test_nothing_imports_in_a_circle() -> None:
    modules = {module_of(path): path for path in SOURCES}
    imports = {
        name: {
            found if found in modules else found.rpartition(".")[0]
            for found in imported_by(path)
            if found.startswith(PACKAGE)
        }
        - {name}
        for name, path in modules.items()
    }
    list(TopologicalSorter(imports).static_order())


def test_core_knows_neither_dbt_nor_spark() -> None:
    ours = f"{PACKAGE}.core.", f"{PACKAGE}.__version__."
    foreign = [
        (module_of(path), name)
        for path in SOURCES
        if "core" in path.relative_to(CHECKOUT).parts
        for name in imported_by(path)
        if name.split(".")[0] in FOREIGN_TO_CORE and not f"{name}.".startswith(ours)
    ]
    assert not foreign


BRANCHES = (ast.If, ast.For, ast.While, ast.ExceptHandler, ast.IfExp, ast.match_case)


def complexity(function: ast.AST) -> int:
    """McCabe's number with the operators `and`, `or` and comprehensions counted, too."""
    total = 1
    for node in ast.walk(function):
        total += isinstance(node, BRANCHES)
        if isinstance(node, ast.comprehension):
            total += 1 + len(node.ifs)
        elif isinstance(node, ast.BoolOp):
            total += len(node.values) - 1
    return total


def test_functions_stay_simple() -> None:
    assert not [
        (module_of(path), node.name, count)
        for path in SOURCES
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.FunctionDef) and (count := complexity(node)) > MAX_COMPLEXITY
    ]
