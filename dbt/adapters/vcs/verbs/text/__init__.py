"""What a person is told: each answer of the verbs as lines and grids."""

from dbt.adapters.vcs.verbs.text.branches import (
    branch_created_text,
    branch_deleted_text,
    branch_protected_text,
    branch_renamed_text,
    branches_text,
)
from dbt.adapters.vcs.verbs.text.changes import changes_text
from dbt.adapters.vcs.verbs.text.commits import commit_text, log_text
from dbt.adapters.vcs.verbs.text.conflicts import (
    aborted_text,
    conflicts_text,
    resolved_text,
)
from dbt.adapters.vcs.verbs.text.diffs import diff_schema_text, diff_summary_text, diff_text
from dbt.adapters.vcs.verbs.text.merges import merge_text
from dbt.adapters.vcs.verbs.text.optimizing import optimize_text
from dbt.adapters.vcs.verbs.text.rows import rows_text
from dbt.adapters.vcs.verbs.text.runs import discarded_text, runs_text
from dbt.adapters.vcs.verbs.text.status import status_text
from dbt.adapters.vcs.verbs.text.tags import (
    tag_created_text,
    tag_deleted_text,
    tag_renamed_text,
    tags_text,
)

__all__ = [
    "aborted_text",
    "branch_created_text",
    "branch_deleted_text",
    "branch_protected_text",
    "branch_renamed_text",
    "branches_text",
    "changes_text",
    "commit_text",
    "conflicts_text",
    "diff_schema_text",
    "diff_summary_text",
    "diff_text",
    "discarded_text",
    "log_text",
    "merge_text",
    "optimize_text",
    "resolved_text",
    "rows_text",
    "runs_text",
    "status_text",
    "tag_created_text",
    "tag_deleted_text",
    "tag_renamed_text",
    "tags_text",
]
