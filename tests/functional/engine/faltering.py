"""A Python function with which tasks fail, die or dawdle on executors, and what became of it.

The function runs in Spark's Python workers on this machine, and returns what it is given. It
notes each attempt of a task, and whether files of another attempt were there when it began.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

Trouble = Literal["fail", "die", "dawdle", "pause", "never"]
"""What the function does in a first attempt: raise an error, kill the executor, or wait; or wait
in every attempt; or raise an error in every attempt."""

SECONDS = {"dawdle": 60, "pause": 1.5}

_SOURCE = '''
import json, os, signal, time
from pathlib import Path
from pyspark import TaskContext

seen = set()


def executor(pid):
    """Return the Java process that a Python worker belongs to."""
    while b"CoarseGrainedExecutorBackend" not in Path(f"/proc/{{pid}}/cmdline").read_bytes():
        stat = Path(f"/proc/{{pid}}/stat").read_text()
        pid = int(stat.rpartition(")")[2].split()[1])
    return pid


def beside(task):
    """Return whether an attempt before has left files of its own beside those of this one."""
    here = f"attempt_*_m_{{task.partitionId():06d}}_*"
    folders = Path({root!r}).glob(f"**/_temporary/0/_temporary/{{here}}")
    others = [f for f in folders if not f.name.endswith(f"_{{task.taskAttemptId()}}")]
    return any(True for folder in others for _ in folder.glob("**/part-*"))


def {name}(value):
    task = TaskContext.get()
    first = task.attemptNumber() == 0
    attempt = task.taskAttemptId()
    is_new = attempt not in seen
    at_end = value % {every} == {every} - 1
    if is_new or at_end:
        seen.add(attempt)
        note = dict(stage=task.stageId(), task=task.partitionId(), attempt=task.attemptNumber(),
                    id=attempt, begins=is_new, ends=at_end, executor=executor(os.getppid()),
                    beside=beside(task))
        with open({notes!r}, "a") as file:
            file.write(json.dumps(note) + "\\n")
    if {trouble!r} == "pause" and is_new:
        time.sleep({seconds})
    if at_end and (first and value in {where!r} or {trouble!r} == "never"):
        if {trouble!r} in ("fail", "never"):
            raise RuntimeError("this task falters")
        if {trouble!r} == "die":
            os.kill(executor(os.getppid()), signal.SIGKILL)
        if {trouble!r} == "dawdle":
            time.sleep({seconds})
    return value
'''


@dataclass(frozen=True, slots=True, kw_only=True)
class Faltering:
    """The function, for values that a range hands to tasks in runs of one length.

    Attributes:
        folder: Of the repository.
        every: How many values a task has.
        trouble: What happens at a task's last value, when it has written the others.
        values: The values at which it happens; each is the last of its task.
    """

    folder: Path
    every: int
    trouble: Trouble
    values: Sequence[int] = ()

    @property
    def notes(self) -> Path:
        return self.folder.with_name(f"{self.folder.name}.{self.trouble}.notes")

    def statement(self, name: str = "falter") -> str:
        """Return the statement that creates the function; it begins new notes."""
        self.notes.unlink(missing_ok=True)
        source = _SOURCE.format(
            name=name,
            root=str(self.folder / "data"),
            notes=str(self.notes),
            every=self.every,
            trouble=self.trouble,
            where=list(self.values),
            seconds=SECONDS.get(self.trouble, 0),
        )
        return (
            f"create or replace function {name}(value bigint) returns bigint language python "
            f"handler = '{name}' as $$\n{source}\n$$"
        )

    def attempts(self) -> list[tuple[int, int]]:
        """Return each attempt as its task's and its own number, sorted."""
        return sorted((note["task"], note["attempt"]) for note in self._begun())

    def repeated(self) -> set[int]:
        """Return the tasks that ran more than once, also those whose whole stage did.

        A stage that is run again counts the attempts of its tasks from zero.
        """
        ran = Counter((note["stage"], note["task"]) for note in self._begun())
        return {task for (_, task), times in ran.items() if times > 1}

    def leftovers(self) -> set[int]:
        """Return the tasks of which an attempt began beside the files of another."""
        return {note["task"] for note in self._begun() if note["beside"]}

    def busy(self) -> set[int]:
        """Return the executors, by process id, that have begun a task and not ended it."""
        noted = self._noted()
        ended = {note["id"] for note in noted if note["ends"]}
        return {note["executor"] for note in noted if note["id"] not in ended}

    def _begun(self) -> list[dict[str, Any]]:
        return [note for note in self._noted() if note["begins"]]

    def _noted(self) -> list[dict[str, Any]]:
        if not self.notes.exists():
            return []
        # The last line may be half written.
        lines = self.notes.read_text().split("\n")[:-1]
        return [json.loads(line) for line in lines]
