"""Python models: run the user's function in this process, and store its frame with SQL."""

from __future__ import annotations

import ast
import json
import linecache
import platform
import re
import traceback
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import pyarrow as pa

from dbt.adapters.vcs.core.errors import EngineError, InputError
from dbt.adapters.vcs.core.model import Origin, RelationName
from dbt.adapters.vcs.engines.port import Frames
from dbt.adapters.vcs.reuse.engine_context import machine_zone
from dbt.adapters.vcs.reuse.reuser import Reuse
from dbt.adapters.vcs.sql.create_table import CreateTable
from dbt.adapters.vcs.sql.syntax.names import Name, split_name
from dbt.adapters.vcs.sql.syntax.parser import parse
from dbt.adapters.vcs.workspace.lines.line_workspace import Connection
from dbt.adapters.vcs.workspace.overlay import Overlay
from dbt.adapters.vcs.workspace.statement_scope import Outcome

MODEL: Final = "# --- the model --- #\n"
"""Marker that the macro `vcs_write_python` puts before the model, to keep the file's line
numbers."""

STATEMENT: Final = "__vcs_statement"
"""The macro's name for the statement that creates the table."""

FRAME: Final = "__vcs_frame"
"""The name of the frame in that statement."""

_LINES: Final = 3
_POSTFIX: Final = "# This part is user provided model code"
"""How dbt's own code begins, which it adds to every model."""

_CALL: Final = re.compile(r"\b(?:(\w+)`?\.`?)?\b(\w+)`?\(")


def run_python_model(
    connection: Connection,
    overlay: Overlay,
    origin: Origin,
    code: str,
    *,
    model: str,
    reads: Sequence[RelationName],
    reuse: Reuse | None = None,
) -> Outcome:
    """Take what a compiled model gave before for what it reads, or run it.

    A result may be taken if the model's config says that it gives the same rows each time. `reads`
    begins with its own relation; the other arguments and the errors are those of `_run`.
    """
    reusing = connection.reusing(reuse)
    scope = connection.scope(code, overlay, origin)
    scope.calls = _calls(code)
    itself, *others = reads

    def is_known(name: RelationName) -> bool:
        return overlay.entry(name) is not None or name in scope.externals

    def compute() -> Outcome:
        known = [name for name in reads if is_known(name)]
        outcome = _run(connection, overlay, origin, code, model=model, reads=known)
        # What the user's code did to the session isn't known, and later results may depend on it.
        connection.doubt(f"the Python model {model} ran in this session")
        return outcome

    if reusing is None:
        return compute()
    target = _target_of(code, connection.schema)
    # Decision 40: Python can read anything, so only a person can say that it repeats.
    if not reusing.reuse.is_declared:
        why = "it is in Python. If it gives the same rows each time, set the config reuse: true"
        return reusing.anew(scope, target, compute, why=why)
    own = code.partition(MODEL)[2].partition(_POSTFIX)[0]
    needed = [*others, itself] if _reads_itself(own) else others
    outcome = reusing.made(
        scope,
        target,
        # The model may depend on Python's release, and on this machine's local time.
        ("python", code, *platform.python_version_tuple()[:2], machine_zone()),
        compute,
        reads=filter(is_known, needed),
        depends_on_target=False,
    )
    # What was taken follows from the same versions as what is computed.
    return replace(outcome, inputs=outcome.inputs or scope.made_by().inputs)


def _reads_itself(code: str) -> bool:
    """Return whether a model may read the table that it replaces: `dbt.this`, incremental ones."""
    return any(
        isinstance(node, ast.Attribute)
        and node.attr in ("is_incremental", "this")
        # A class of the model's own.
        and not (isinstance(node.value, ast.Name) and node.value.id == "self")
        for node in ast.walk(ast.parse(code))
    )


def _run(
    connection: Connection,
    overlay: Overlay,
    origin: Origin,
    code: str,
    *,
    model: str,
    reads: Iterable[RelationName],
) -> Outcome:
    """Run a compiled model, then the statement at its end on the frame that it returns.

    The model sees the branch as its SQL would. `dbt.ref` and `dbt.source` return Spark frames;
    `session` can read the model's dependencies, and the table that it replaces, by name. It can
    return a frame of Spark, pandas, Arrow, or anything else that supports Arrow.

    Args:
        connection: The node's connection.
        overlay: The state that it sees and changes.
        code: dbt's compiled code, followed by the statement.
        model: Its name, for errors.

    Raises:
        EngineError: The user's code failed; the message has its last lines.
        InputError: It returned something that is not a frame.
    """
    scope = connection.scope(code, overlay, origin)
    session = connection.session()
    frames = session.frames()
    scope.calls = _calls(code)
    scope.show(reads)
    read = dict.fromkeys(reads)

    def load(text: str) -> Any:
        name = _name_of(text)
        read[name] = None
        with scope.shown([name]):
            return frames.read(text)

    # A name of its own for each run: threads share nothing, and leftovers collide with nothing.
    view = f"vcs_frame_{uuid.uuid4().hex}"
    with frames.running():
        namespace, frame = _frame_of(code.partition(MODEL)[2], model, frames, load)
        if not frames.show(view, frame):
            session.mount_arrow(view, _arrow(frame, model))
    connection.frames[view] = tuple(read)
    try:
        text = namespace[STATEMENT].replace(FRAME, view)
        return connection.execute(text, overlay, origin=scope.made_by())
    finally:
        connection.frames.pop(view, None)
        frames.hide(view)


def relations_of(parsed_model: Mapping[str, Any], manifest: Any) -> tuple[RelationName, ...]:
    """Return a model's own relation, and what it depends on."""
    nodes = {**getattr(manifest, "nodes", {}), **getattr(manifest, "sources", {})}
    found = [(parsed_model["schema"], parsed_model["alias"])]
    for id in parsed_model["depends_on"]["nodes"]:
        node = nodes.get(id)
        if node is not None:
            identifier = getattr(node, "identifier", None) or getattr(node, "alias", node.name)
            found.append((node.schema, identifier))
    return tuple(RelationName(schema.lower(), identifier.lower()) for schema, identifier in found)


def _target_of(code: str, schema: str) -> RelationName:
    # The macro `vcs_write_python` puts it there, as the text of an assignment.
    *_, last = ast.parse(code.partition(MODEL)[2]).body
    assert isinstance(last, ast.Assign) and isinstance(last.value, ast.Call)
    text = json.loads(ast.literal_eval(last.value.args[0]))
    statement = parse(text)
    assert isinstance(statement, CreateTable)
    return statement.target.name.relation(schema)


def _frame_of(code: str, model: str, frames: Frames, load: Any) -> tuple[dict[str, Any], Any]:
    """Return the names that a model's file defines, and the frame that its function returns."""
    # Not `__main__`: what a file does as a script is no part of the model.
    namespace: dict[str, Any] = {"__name__": f"dbt.{model}", "spark": frames.handle}
    place = _place(model)
    # So that a traceback can quote the lines.
    linecache.cache[place] = (len(code), None, code.splitlines(keepends=True), place)
    try:
        exec(compile(code, place, "exec"), namespace)
        return namespace, namespace["model"](namespace["dbtObj"](load), frames.handle)
    except Exception as error:
        raise _failure(model, error, frames) from error


def _arrow(frame: Any, model: str) -> pa.Table:
    try:
        if isinstance(frame, pa.Table):
            table = frame
        # Before the general case: a frame of pandas is a stream of Arrow, too, with its index as a
        # column.
        elif type(frame).__module__.partition(".")[0] == "pandas" and hasattr(frame, "columns"):
            table = pa.Table.from_pandas(frame, preserve_index=False)
        elif isinstance(frame, pa.RecordBatch) or hasattr(frame, "__arrow_c_stream__"):
            table = pa.table(frame)
        else:
            raise InputError(
                f"The Python model {model} returned {type(frame).__name__}; expected a frame of "
                "Spark, pandas or Arrow."
            )
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InputError(
            f"The frame that the Python model {model} returned can't be turned into a "
            f"table: {error}. Give each column values of one type."
        ) from error
    return table.replace_schema_metadata(None).cast(
        pa.schema([_plain(field) for field in table.schema])
    )


def _plain(field: pa.Field) -> pa.Field:
    """Return a column without dictionary encoding, as in pandas categories; Spark lacks it."""
    if pa.types.is_dictionary(field.type):
        return field.with_type(field.type.value_type)
    return field


def _calls(code: str) -> tuple[Name, ...]:
    """Return the functions that SQL inside a model's code may call; it need not call them."""
    found = dict.fromkeys(_CALL.findall(code))
    return tuple(Name(schema=schema or None, identifier=name) for schema, name in found)


def _name_of(text: str) -> RelationName:
    parts = split_name(text)
    return RelationName(parts[-2].lower() if len(parts) > 1 else "default", parts[-1].lower())


def _place(model: str) -> str:
    return f"<{model}.py>"


def _failure(model: str, error: Exception, engine: Frames) -> EngineError:
    """Return the user's error, with the lines of the model that led to it."""
    place = _place(model)
    frames = [item for item in traceback.extract_tb(error.__traceback__) if item.filename == place]
    lines = [f"  line {item.lineno}, in {item.name}: {item.line}" for item in frames[-_LINES:]]
    words = engine.words_of(error)
    return EngineError("\n".join([f"The Python model {model} failed: {words}", *lines]))
