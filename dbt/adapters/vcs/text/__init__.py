"""What a person is told: each answer of the verbs as lines and grids."""

from dbt.adapters.vcs.text.branch_text import (
    branch_created_text,
    branch_deleted_text,
    branch_protected_text,
    branch_renamed_text,
    branches_text,
)
from dbt.adapters.vcs.text.change_text import changes_text
from dbt.adapters.vcs.text.commit_text import commit_text, log_text
from dbt.adapters.vcs.text.conflict_text import (
    aborted_text,
    conflicts_text,
    resolved_text,
)
from dbt.adapters.vcs.text.diff_text import diff_schema_text, diff_summary_text, diff_text
from dbt.adapters.vcs.text.merge_text import merge_text
from dbt.adapters.vcs.text.optimize_text import optimize_text
from dbt.adapters.vcs.text.row_text import rows_text
from dbt.adapters.vcs.text.run_text import discarded_text, runs_text
from dbt.adapters.vcs.text.status_text import status_text
from dbt.adapters.vcs.text.tag_text import (
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
