"""Verbs: a file each with the function, its report, its lines of text and its command."""

from __future__ import annotations

from typing import Final

GROUPS: Final = {
    "Look": {
        "status": "Show the status of the repository and a branch.",
        "log": "List the commits of a revision, newest first.",
        "show": "Show a commit: its run, and what it changed.",
        "diff": "Show how two commits differ.",
        "review": "Review what a branch changes before it is merged.",
        "ui": "Show branches, history, rows and reviews in a browser.",
        "docs": "Put the review of a branch beside the pages that `dbt docs generate` wrote.",
        "cat": "Write the rows of RELATION, a table, as they are read.",
        "sql": "Run SQL on a branch, with Spark.",
        "du": "Show what the tables of REVISION take up, the largest first.",
        "reflog": "List the moves of a branch or tag, newest first.",
    },
    "Branches and names": {
        "branch": "List, create, rename and delete branches.",
        "tag": "List, create, rename and delete tags.",
        "snapshot": "List, create and delete named snapshots of tables.",
        "runs": "List, discard and publish runs of dbt.",
        "run": "Make one run of many commands, which are published together.",
    },
    "Bring changes together": {
        "merge": "Merge a branch, with all its relations in one step.",
        "promote": "Publish a branch, all of its relations or none.",
        "approve": "Approve what BRANCH shows, so that it can be promoted.",
        "pr": "Take the data of a pull request through its steps, in CI.",
        "cherry-pick": "Apply the changes of single commits.",
        "forecast": "Merge open branches in memory, and list what will conflict.",
        "conflicts": "Show the conflicts of a merge into TARGET.",
        "resolve": "Resolve conflicts of RELATION by side, by rule, or with values of a row.",
    },
    "Go back": {
        "revert": "Undo the changes of a commit.",
        "restore": "Restore a relation or a branch to an earlier state.",
        "clone": "Create a table from a version of another table.",
        "purge": "Erase rows of RELATION, schema.table, from all versions on all branches.",
    },
    "Find causes": {
        "blame": "Show which commit last changed a row.",
        "lineage": "Show what a version was built from.",
        "stale": "List tables that were made from other versions than REVISION shows.",
        "bisect": "Find the commit, run and model that broke a condition.",
        "reuse": "Show what is remembered of computed results, and why one was computed.",
    },
    "Other engines": {
        "serve": "Serve the repository as an Iceberg REST catalog.",
        "mcp": "Let AI assistants read the repository, by the Model Context Protocol.",
        "export": "Let other engines read a branch's tables, without a server.",
    },
    "Maintain": {
        "init": "Create an empty repository.",
        "optimize": "Combine small files of tables.",
        "gc": "Delete files that are no longer needed.",
        "copy": "Copy a repository, or bring a copy up to date.",
        "fsck": "Check for missing or damaged files.",
        "repair": "Show what is damaged and what can be done about it, or do it.",
        "upgrade": "Give a repository of an older version the newest format.",
        "completion": "Print a script with which a shell completes command lines.",
        "prepare": "Let Spark start sooner on this machine.",
    },
}
"""The one-line help of each command, by what it is for; listed without loading the command."""

COMMANDS: Final = {name: help for verbs in GROUPS.values() for name, help in verbs.items()}
"""The one-line help of each command."""
