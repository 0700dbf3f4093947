"""Left mentions: where texts of erased rows are still written, which only people can change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dbt.adapters.vcs.core.ids import SnapshotId
from dbt.adapters.vcs.core.model import Entry, FunctionEntry, Snapshot, ViewEntry
from dbt.adapters.vcs.core.store.objects import ObjectStore
from dbt.adapters.vcs.verbs.erasing.reached import Reached
from dbt.adapters.vcs.verbs.erasing.rewritten_history import History, mentions


def left_mentions(
    objects: ObjectStore,
    reached: Reached,
    versions: Mapping[SnapshotId, Snapshot],
    history: History,
    texts: Sequence[str],
) -> Iterator[str]:
    """Yield the places where some texts are left once a history is rewritten.

    Args:
        objects: The store of the history.
        reached: The history before.
        versions: The versions of the purged tables.
        history: The new history, with what is redacted in it.
        texts: The texts.
    """
    left = [text for text in texts if history.redacted(text) == text]
    for id in reached.commits:
        if (part := mentions(objects.commit(id), left)) is not None:
            yield f"the {part} of commit {history.commits[id][:12]}"
    yield from (where for where, note in reached.notes if _has(note, left))
    for entry, name in reached.texts.items():
        if _has(_text(objects, entry), texts):
            yield f"the text of the {entry.noun} {name}"
    told = {text for item in versions.values() for text in item.properties.values()}
    told |= {item.comment or "" for item in versions.values()}
    if any(_has(text, texts) for text in told):
        yield "a comment or property of the table"


def _has(text: str, parts: Sequence[str]) -> bool:
    return any(part in text for part in parts)


def _text(objects: ObjectStore, entry: Entry) -> str:
    """Return what somebody wrote to define a view or function."""
    match entry:
        case ViewEntry(view=id):
            return objects.view(id).text
        case FunctionEntry(function=id):
            return objects.function(id).text
    return ""
