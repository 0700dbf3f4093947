"""Objects and refs on a blob store."""

from dbt.adapters.vcs.core.store.blobs import BlobInfo, Blobs, MemoryBlobs
from dbt.adapters.vcs.core.store.local import LocalBlobs
from dbt.adapters.vcs.core.store.objects import ObjectStore
from dbt.adapters.vcs.core.store.opening import open_blobs
from dbt.adapters.vcs.core.store.refs import Ref, RefStore, Space

__all__ = [
    "BlobInfo",
    "Blobs",
    "LocalBlobs",
    "MemoryBlobs",
    "ObjectStore",
    "Ref",
    "RefStore",
    "Space",
    "open_blobs",
]
