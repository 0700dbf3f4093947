"""Facts about an invocation."""

import subprocess
from pathlib import Path

from dbt.adapters.vcs.core.ids import short_sha
from dbt.adapters.vcs.project.invocation import Invocation


def test_the_git_commit_says_whether_files_of_the_project_differ_from_it(tmp_path: Path) -> None:
    def git(*words: str) -> str:
        who = ("-c", "user.name=ann", "-c", "user.email=ann@example.com")
        done = subprocess.run(
            ["git", *who, *words], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    project = tmp_path / "project"
    project.mkdir()
    invocation = Invocation(
        id="i",
        command="run",
        target="dev",
        project_root=project,
        retry_of=None,
        author="ann",
        dbt_version="1",
    )
    assert invocation.git_sha() is None
    git("init", "--quiet")
    assert invocation.git_sha() is None
    (project / "model.sql").write_text("select 1")
    git("add", ".")
    git("commit", "--quiet", "--message", "one")
    head = git("rev-parse", "HEAD")
    assert invocation.git_sha() == head
    (tmp_path / "other").write_text("not of the project")
    assert invocation.git_sha() == head
    (project / "new.sql").write_text("select 2")
    assert invocation.git_sha() == f"{head}-dirty"
    (project / "new.sql").unlink()
    (project / "model.sql").write_text("select 2")
    assert invocation.git_sha() == f"{head}-dirty"
    assert short_sha(f"{head}-dirty") == f"{head[:12]}-dirty"
    assert short_sha(head) == head[:12]
