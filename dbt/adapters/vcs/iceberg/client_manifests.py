"""Client manifests: the files that a snapshot written by another engine consists of."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from dbt.adapters.vcs.core.errors import InputError, NotFoundError, UnsupportedError
from dbt.adapters.vcs.core.ids import TableId
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.iceberg.avro_files import client_records, read_avro
from dbt.adapters.vcs.iceberg.manifest_files import DATA, DELETED
from dbt.adapters.vcs.iceberg.metadata_files import folder_of_table, place_of
from dbt.adapters.vcs.iceberg.puffin_files import VectorPlace
from dbt.adapters.vcs.table.partition_values import CLIENT_FOLDER

_POSITIONS: Final = 1
_VALUES: Final = 2
_LOCAL: Final = "file://"
_NEEDED: Final = frozenset(
    {"manifest_path", "content", "sequence_number", "status", "data_file", "file_path"}
    | {"file_format", "record_count", "equality_ids", "referenced_data_file"}
    | {"content_offset", "content_size_in_bytes"}
)
_PACKED: Final = 64 * 2**20
"""Bytes of one of a client's files."""

# Bytes of the entries in all files of one commit: of a million data files, or of 40,000 with
# bounds of a hundred columns.
_UNPACKED: Final = 256 * 2**20

_PUFFIN: Final = "PUFFIN"
_PLACE: Final = ("referenced_data_file", "content_offset", "content_size_in_bytes")


class DeleteFile(NamedTuple):
    """A file of deleted positions, or one of the deletion vectors of a Puffin file.

    Attributes:
        path: The file's path in the repository.
        vector: Where the vector is in it; None for a file of positions.
    """

    path: str
    vector: VectorPlace | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EqualityFile:
    """A file of values, whose rows a client deleted from all files that are older.

    Attributes:
        path: Its path in the repository.
        columns: Numbers of the columns whose values tell the rows.
        sequence: Its sequence number; files with lower ones are older.
    """

    path: str
    columns: tuple[int, ...]
    sequence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientFiles:
    """The files of a client's snapshot, relative to the repository.

    Attributes:
        paths: All data files that it consists of, in the order of its manifests, with their
            sequence numbers.
        deletes: Files of deleted positions, and deletion vectors, that the client wrote.
        equality: Files of deleted values that it wrote.
        known: Those of ours, which it was shown, as far as it keeps them.
        undeleted: True if it leaves out some of those that it was shown.
    """

    paths: Mapping[str, int]
    deletes: tuple[DeleteFile, ...]
    equality: tuple[EqualityFile, ...]
    known: tuple[DeleteFile, ...]
    undeleted: bool


def client_folder(table: TableId, branch: str) -> str:
    """Return the folder where clients of a table on a branch put their files.

    It is a folder as that of any write: collection takes what no commit names. Each branch has
    its own, so that who may write to one can't bring in what clients of another one wrote.
    Clients of the branch share it, and give files names of their own.
    """
    # Names of branches may have slashes, or differ only in case.
    digest = hashlib.sha256(f"{table}\0{branch}".encode()).hexdigest()
    return f"data/{table}/w=x{digest[:32]}/{CLIENT_FOLDER}"


def client_files(
    repository: Repository,
    table: TableId,
    manifest_list: str,
    *,
    folder: str,
    beside: Collection[str] = (),
) -> ClientFiles:
    """Read a client's manifest list, and the manifests that it names.

    Counts in them are not believed: the files' own footers are for that.

    Args:
        table: The table's lineage.
        manifest_list: URI of the list.
        folder: The folder that the client was given, below which its files are.
        beside: Folders of data files that the client was shown: DuckDB puts files of deleted
            positions there. They are read once, and not kept.

    Raises:
        InputError: A file isn't there, or is outside of the folder handed out.
        UnsupportedError: A file is of another format than Parquet.
    """
    try:
        return _client_files(repository, table, manifest_list, folder, beside)
    # Whatever a client's manifests lack shows as one of these. No field is checked beforehand.
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(
            f"The manifests of {manifest_list} lack something that they need: "
            f"{type(error).__name__}: {error}. Nothing was changed; write them again."
        ) from error


def _client_files(
    repository: Repository,
    table: TableId,
    manifest_list: str,
    folder: str,
    beside: Collection[str],
) -> ClientFiles:
    ours = f"{folder_of_table(table)}/"
    reader = _Reader(repository, folder, ours)
    paths: dict[str, int] = {}
    deletes: dict[DeleteFile, None] = {}
    equality: dict[str, EqualityFile] = {}
    undeleted = False
    # Decision 23: of a file only its path counts; manifests are the client's word.
    for manifest in reader.records(manifest_list):
        is_data = int(manifest.get("content") or DATA) == DATA
        for entry in reader.records(str(manifest["manifest_path"])):
            file: Mapping[str, Any] = entry["data_file"]
            if int(entry["status"]) == DELETED:
                # Without it, deleted rows may be back: `adopt` looks whether they are.
                undeleted |= not is_data
                continue
            path, sequence = reader.path(str(file["file_path"])), _sequence(entry, manifest)
            if not is_data:
                if not path.startswith(ours):
                    _check_deletes(path, file, folder, beside)
                if int(file["content"]) == _VALUES:
                    columns = tuple(map(int, file.get("equality_ids") or ()))
                    equality[path] = EqualityFile(path=path, columns=columns, sequence=sequence)
                else:
                    deletes[DeleteFile(path, _vector(path, file))] = None
                continue
            _check_data(path, file)
            # Readers would return its rows twice.
            if path in paths:
                raise InputError(f"The snapshot names {path} twice. Nothing was changed.")
            paths[path] = sequence
    _check_one_vector_each(reader, deletes)
    return ClientFiles(
        paths=paths,
        deletes=tuple(item for item in deletes if not item.path.startswith(ours)),
        equality=tuple(equality.values()),
        known=tuple(item for item in deletes if item.path.startswith(ours)),
        undeleted=undeleted,
    )


class ClientPaths:
    """Gives the paths of the files that clients name by URI."""

    def __init__(self, repository: Repository) -> None:
        self._root = place_of(repository).root

    def path(self, uri: str) -> str:
        """Return a file's path in the repository.

        Raises:
            InputError: It is not in it.
        """
        # Spark calls one bucket s3a where Iceberg calls it s3, and a local file file:/ or file:///.
        given, root = re.sub("^s3a://", "s3://", uri), self._root
        if root.startswith(_LOCAL):
            given, root = re.sub("^file:/*", "/", given), root.removeprefix(_LOCAL)
        path = given.removeprefix(f"{root}/")
        # A path that climbs out would make rows of any file that the server can read.
        if path == given or not {"", ".", ".."}.isdisjoint(path.split("/")):
            raise InputError(
                f"{uri} is not below the repository, {self._root}. Write files to the folder in "
                "the table's property write.data.path; load the table again to see it."
            )
        return path


class _Reader(ClientPaths):
    """Reads the Avro files of one snapshot."""

    def __init__(self, repository: Repository, folder: str, ours: str) -> None:
        super().__init__(repository)
        self._blobs = repository.blobs
        self._folder = folder
        self._ours = ours
        self._left = _UNPACKED

    def records(self, uri: str) -> Iterator[dict[str, Any]]:
        """Yield the records of an Avro file, which is ours or the client's."""
        path = self.path(uri)
        is_ours = path.startswith(self._ours)
        if not is_ours and not path.startswith(f"{self._folder}/"):
            raise InputError(
                f"{uri} is outside of the folders that the table's clients were given. Write it "
                "to the table's property write.metadata.path; load the table again to see it."
            )
        try:
            if is_ours:
                yield from read_avro(self._blobs.get(path))
                return
            if self._blobs.size(path) > _PACKED:
                raise ValueError(f"it has more than {_PACKED >> 20} MiB")
            # Nothing else is decoded: a file that anybody wrote may be meant to do harm.
            for record, size in client_records(self._blobs.get(path), _NEEDED):
                self._left -= size
                if self._left < 0:
                    raise InputError(
                        f"The files that {uri} belongs to have more than {_UNPACKED >> 20} MiB "
                        "of entries, unpacked. Nothing was changed; commit fewer files at once."
                    )
                yield record
        except NotFoundError:
            raise InputError(f"{uri} is not there. Nothing was changed; write it again.") from None
        except (
            ValueError,
            EOFError,
            KeyError,
            IndexError,
            TypeError,
            AttributeError,
            RecursionError,
        ) as error:
            raise InputError(f"{uri} is not a file of Avro records: {error}.") from error


def _sequence(entry: Mapping[str, Any], manifest: Mapping[str, Any]) -> int:
    """Return the sequence number of a file, which new ones have from their manifest."""
    own = entry.get("sequence_number")
    return int(manifest.get("sequence_number") or 0) if own is None else int(own)


def _check_data(path: str, file: Mapping[str, Any]) -> None:
    if str(file.get("file_format")).upper() != "PARQUET":
        raise UnsupportedError(
            f"{path} is a file of the format {file.get('file_format')}. Tables of a repository "
            "consist of Parquet files; set write.format.default to parquet."
        )


def _vector(path: str, file: Mapping[str, Any]) -> VectorPlace | None:
    """Return where the deletion vector of a manifest's entry is; None for a file of positions."""
    if str(file.get("file_format")).upper() != _PUFFIN:
        return None
    uri, offset, size = (file.get(key) for key in _PLACE)
    if not isinstance(uri, str) or not isinstance(offset, int) or not isinstance(size, int):
        raise InputError(
            f"The manifest doesn't say where in {path} a deletion vector is, and of which file: "
            f"expected {', '.join(_PLACE)}. Nothing was changed; write it again."
        )
    return VectorPlace(uri, int(file["record_count"]), offset, size)


def _check_one_vector_each(paths: ClientPaths, deletes: Iterable[DeleteFile]) -> None:
    """Check that no data file has two vectors: readers would take one of them, either one."""
    found = Counter(paths.path(item.vector.uri) for item in deletes if item.vector is not None)
    for path, count in found.items():
        if count > 1:
            raise InputError(
                f"The snapshot has {count} deletion vectors of {path}, and a file may have one. "
                "Nothing was changed. Write one of all its deleted rows, and leave out the "
                "earlier one."
            )


def _check_deletes(
    path: str, file: Mapping[str, Any], folder: str, beside: Collection[str]
) -> None:
    """Check that a client's delete file can be read, and is where it may be."""
    kinds = {_POSITIONS: ("PARQUET", _PUFFIN), _VALUES: ("PARQUET",)}
    if str(file.get("file_format")).upper() not in kinds.get(int(file["content"]), ()):
        raise UnsupportedError(
            f"{path} is a delete file of the format {file.get('file_format')}; expected Parquet, "
            "or Puffin for deletion vectors. Nothing was changed; set write.delete.format.default "
            "to parquet."
        )
    if not path.startswith(f"{folder}/") and path.rpartition("/")[0] not in beside:
        raise InputError(
            f"{path} is outside of the folders that the table's clients were given. Nothing was "
            "changed. Write it to the table's property write.data.path; load the table again to "
            "see it."
        )
