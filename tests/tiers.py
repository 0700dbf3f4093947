"""The second tier: what `make test` leaves to `make test-rest`, by folder, file or function.

The first tier has each behaviour once, and takes a quarter of an hour on two cores. Here are
the tests that cost most of the rest: whole programs, campaigns, and the same checks in one more
setting. Nothing here is skipped: `make test-all` runs both tiers, and `.ci/run` another third of
the second one each time.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from functools import cache
from typing import Final

import pytest

SLOW: Final = (
    "browser/test_review_in_browser.py",
    "browser/test_ui_in_browser.py",
    "chaos/test_campaign.py",
    "chaos/test_mends.py",
    "chaos/test_plays.py",
    "chaos/test_purges.py::test_writers_beside_purges_lose_nothing_and_bring_nothing_back",
    "contract/test_registrations.py::TestGlue",
    "functional/checks/test_in_dbt.py::test_checks_of_a_table_that_stays_change_with_the_contract",
    "functional/checks/test_in_dbt.py::test_every_kind_of_model_keeps_the_checks_of_its_contract",
    "functional/daily/test_aliases.py",
    "functional/daily/test_bisect.py",
    "functional/daily/test_changes.py::test_a_build_that_changes_no_row_consumes",
    "functional/daily/test_changes.py::test_a_clone_goes_on_where_the_other_table_is",
    "functional/daily/test_changes.py::test_a_node_that_fails_after_its_table_was_written_consumes_nothing",
    "functional/daily/test_changes.py::test_a_unit_test_gives_inserts_and_new_columns_are_added",
    "functional/daily/test_changes.py::test_branches_that_both_built_merge_without_a_conflict",
    "functional/daily/test_changes.py::test_compiled_sql_is_not_applied_twice",
    "functional/daily/test_changes.py::test_empty_and_full_refresh",
    "functional/daily/test_changes.py::test_keys_may_be_null_and_not_repeated",
    "functional/daily/test_changes.py::test_late_rows_updates_and_deletions_are_read_once",
    "functional/daily/test_clustering.py",
    "functional/daily/test_errors.py::test_a_spark_that_dies_says_so",
    "functional/daily/test_errors.py::test_a_spark_that_does_not_start_says_why",
    "functional/daily/test_externals.py",
    "functional/daily/test_functions.py::test_a_run_that_fails_publishes_no_function",
    "functional/daily/test_functions.py::test_models_call_functions_of_every_kind",
    "functional/daily/test_installed_package.py",
    "functional/daily/test_isolation.py",
    "functional/daily/test_ledger_package.py",
    "functional/daily/test_microbatch.py::test_without_partitions_a_batch_replaces_the_rows_of_its_time",
    "functional/daily/test_names_of_things.py::test_branches_of_all_names_hold_their_own",
    "functional/daily/test_packages.py",
    "functional/daily/test_packages_page.py",
    "functional/daily/test_read_only_project.py",
    "functional/daily/test_rebuild.py::test_what_can_not_be_compared_is_written_whole",
    "functional/daily/test_seeds.py::test_a_hundred_thousand_rows_arrive",
    "functional/daily/test_settings.py",
    "functional/daily/test_snapshots.py::test_nothing_new_makes_no_commit",
    "functional/daily/test_storage_configs.py",
    "functional/daily/test_strategies.py",
    "functional/diffs/test_engines.py",
    "functional/engine/test_carried_rows.py::test_a_killed_process_leaves_no_file",
    "functional/engine/test_client_files.py::test_spark_writes_into_the_partitions_that_clients_made",
    "functional/engine/test_executors.py",
    "functional/engine/test_foreign_catalogs.py",
    "functional/engine/test_inside_columns.py::test_old_and_new_files_have_the_same_rows_in_spark_and_in_arrow",
    "functional/engine/test_inside_laws.py",
    "functional/engine/test_mount.py::test_threads_with_one_temporary_name_never_mix_rows",
    "functional/engine/test_process.py::test_quiet_and_clean",
    "functional/engine/test_process.py::test_spark_that_does_not_start",
    "functional/engine/test_process.py::test_spark_that_runs_already",
    "functional/engine/test_server_branches.py::test_two_processes_with_a_branch_each_and_the_same_names",
    "functional/engine/test_server_models.py::test_a_project_is_built_twice_without_java_here",
    "functional/engine/test_server_models.py::test_a_query_that_varies_is_known_by_its_plan",
    "functional/engine/test_server_models.py::test_functions_in_python_and_what_reads_them",
    "functional/engine/test_server_models.py::test_what_a_killed_client_leaves_is_swept_by_a_later_one",
    "functional/engine/test_shared_folder.py",
    "functional/engine/test_tombstones.py::test_partition_folders_are_spelled_as_spark_spells_them",
    "functional/engine/test_varying_functions.py",
    "functional/life/test_exports.py",
    "functional/life/test_freshness.py::test_it_only_reads_where_no_hooks_run",
    "functional/life/test_freshness.py::test_what_hooks_write_is_published",
    "functional/life/test_interrupted_sql.py::test_ctrl_c_frees_a_server",
    "functional/life/test_next_steps.py",
    "functional/life/test_on_stale.py::test_the_same_job_three_times_at_once_gives_the_rows_of_one_order",
    "functional/life/test_prepared.py",
    "functional/life/test_publish.py::test_always_publishes_nothing_where_nothing_succeeded_or_the_branch_is_protected",
    "functional/life/test_publish.py::test_always_publishes_what_succeeded_and_retry_runs_the_rest",
    "functional/life/test_pull_requests.py",
    "functional/life/test_shared_runs.py::test_processes_side_by_side_are_one_run",
    "functional/life/test_signals.py::test_a_reader_in_another_process_sees_whole_commits_only",
    "functional/life/test_signals.py::test_a_run_whose_record_lacks_nodes_is_not_retried",
    "functional/life/test_signals.py::test_ctrl_c_cancels_spark_and_retry_goes_on",
    "functional/life/test_signals.py::test_readers_see_whole_commits_only",
    "functional/life/test_signals.py::test_sigkill_leaves_the_target_and_a_branch_to_collect",
    "functional/life/test_signals.py::test_two_processes_publish_different_tables_to_one_branch",
    "functional/merges/test_branches.py::test_tables_are_merged_by_operations_and_by_the_command",
    "functional/merges/test_engine.py::test_choices_for_single_rows_are_followed_by_an_engine",
    "functional/recipes",
    "functional/reuse/test_neighbours.py",
    "functional/reuse/test_reuse.py::test_a_new_branch_and_a_promoted_one_take_what_is_known",
    "functional/reuse/test_without_java.py",
    "functional/rows/test_batches.py",
    "functional/rows/test_flipped_bits.py",
    "functional/rows/test_machine.py",
    "functional/rows/test_partitions.py::test_partitions_of_every_type_hold_what_a_plain_table_holds",
    "functional/rows/test_passed_tests.py::test_what_manifests_answer_is_what_spark_finds",
    "functional/rows/test_self_reading.py::test_writers_side_by_side_number_their_rows_without_a_gap",
    "functional/rows/test_serial_laws.py",
    "functional/rows/test_settings.py",
    "functional/rows/test_whole_count.py::test_a_count_is_what_a_scan_finds",
    "functional/rows/test_writes.py::test_both_ways_of_writing_make_the_same_table",
    "functional/temporary/test_laws.py",
    "functional/test_benchmarks.py",
    "functional/test_demo.py",
    "functional/test_package.py",
    "model/test_protocol.py::test_each_rule_is_needed",
    "model/test_protocol.py::test_the_page_states_the_invariants_and_the_rules",
    "property/test_engine_laws.py",
    "property/test_equality_laws.py::test_engines_agree_with_the_oracle",
    "property/test_healing_processes.py",
    "property/test_purge_laws.py::test_diffs_of_new_versions_are_those_of_the_old_ones_without_the_rows",
    "property/test_purge_laws.py::test_merging_new_branches_gives_the_old_merge_without_the_rows",
    "property/test_verb_pairs.py",
    "unit/cli/test_pull_request_jobs.py",
    "unit/serve/test_hostile_clients.py::test_no_odd_request_fails_unexpectedly",
)
"""Tests that are left out entirely."""

VARIANTS: Final = (
    "functional",
    "unit/cli/test_listings.py::test_a_reader_that_has_enough_ends_the_listing_quietly",
    "unit/cli/test_listings.py::test_printing_takes_as_much_memory_for_many_rows_as_for_few",
    "unit/cli/test_one_door.py::test_command_and_operation_do_and_refuse_the_same",
    "unit/cli/test_progress_line.py::test_whatever_takes_long_shows_files_and_takes_the_line_away",
    "unit/core/test_cache.py",
    "unit/rows/test_limits.py",
    "unit/serve/test_partition_types.py",
    "unit/test_stopped_session.py",
)
"""Tests with many cases: of each function one case stays in the first tier, and one in eight."""


def slow(items: list[pytest.Item]) -> Iterator[pytest.Item]:
    """Yield the tests of the second tier. Names decide, and not the order of the tests."""
    lowest: dict[str, int] = {}
    for item in items:
        path = _path(item)
        lowest[path] = min(_checksum(item), lowest.get(path, _checksum(item)))
    for item in items:
        path, checksum = _path(item), _checksum(item)
        if path.startswith("functional/adapter/"):
            if item.getparent(pytest.Class) is not None and "/basic/" not in path:
                yield item
            continue
        is_one_of_many = checksum > lowest[path] and _is_listed(path, VARIANTS)
        if _is_listed(path, SLOW) or (checksum % 8 and (is_one_of_many or _is_elsewhere(item))):
            yield item


def in_share(test: str, share: int, seed: str) -> bool:
    """Return whether a test's file is among the one in `share` that a seed chooses."""
    file = test.partition("::")[0]
    return zlib.crc32(f"{seed} {file}".encode()) % share == 0


def _path(item: pytest.Item) -> str:
    return item.nodeid.removeprefix("tests/").partition("[")[0]


def _checksum(item: pytest.Item) -> int:
    return zlib.crc32(item.nodeid.encode())


def _is_elsewhere(item: pytest.Item) -> bool:
    """Return whether a test is one that runs here, too, on a server: Spark Connect or S3."""
    call = getattr(item, "callspec", None)
    return call is not None and (
        call.params.get("method") == "connect" or "s3" in call.id.split("-")
    )


def _is_listed(path: str, listed: tuple[str, ...]) -> bool:
    # A path is listed as a whole, with its file, or with a folder above it.
    names, places = _split(listed)
    return path in names or path.startswith(places)


@cache
def _split(listed: tuple[str, ...]) -> tuple[frozenset[str], tuple[str, ...]]:
    return frozenset(listed), tuple(f"{name}{mark}" for name in listed for mark in ("/", "::"))
