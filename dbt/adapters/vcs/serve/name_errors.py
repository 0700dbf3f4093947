"""Name errors: what is missing, or taken, in the words that clients of Iceberg's catalogs know.

Their tests, and some programs, look for the beginnings of these sentences.
"""

from __future__ import annotations

from dbt.adapters.vcs.core.model import Entry, RelationName, TableEntry, ViewEntry
from dbt.adapters.vcs.serve.rest_error import RestError

NO_NAMESPACE = "NoSuchNamespaceException"
TAKEN = "AlreadyExistsException"


def no_namespace(name: str, hint: str = "") -> RestError:
    """Return the error for a namespace that isn't there."""
    return RestError(404, NO_NAMESPACE, f"Namespace does not exist: {name}{hint}")


def no_relation(
    name: RelationName | str, type_: type[TableEntry] | type[ViewEntry], hint: str = ""
) -> RestError:
    """Return the error for a table or a view that isn't there."""
    noun = type_.noun.capitalize()
    return RestError(404, f"NoSuch{noun}Exception", f"{noun} does not exist: {name}{hint}")


def name_taken(
    name: RelationName, there: Entry, wanted: type[TableEntry] | type[ViewEntry]
) -> RestError:
    """Return the error for a relation to be made under a name that has one."""
    noun = there.noun.capitalize()
    same = "" if isinstance(there, wanted) else " with same name"
    return RestError(409, TAKEN, f"{noun}{same} already exists: {name}")
