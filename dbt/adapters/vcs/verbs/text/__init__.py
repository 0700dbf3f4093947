"""What a person is told: each answer of the verbs as lines and grids."""

from dbt.adapters.vcs.verbs.text.branches import (
    branch_created_text,
    branch_deleted_text,
    branches_text,
)
from dbt.adapters.vcs.verbs.text.changes import changes_text
from dbt.adapters.vcs.verbs.text.commits import commit_text, log_text
from dbt.adapters.vcs.verbs.text.merges import merge_text
from dbt.adapters.vcs.verbs.text.runs import discarded_text, runs_text
from dbt.adapters.vcs.verbs.text.status import status_text
from dbt.adapters.vcs.verbs.text.tags import tag_created_text, tag_deleted_text, tags_text

__all__ = [
    "branch_created_text",
    "branch_deleted_text",
    "branches_text",
    "changes_text",
    "commit_text",
    "discarded_text",
    "log_text",
    "merge_text",
    "runs_text",
    "status_text",
    "tag_created_text",
    "tag_deleted_text",
    "tags_text",
]
