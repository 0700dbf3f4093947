"""Resource paths: where the protocol has namespaces, tables and views, below a prefix."""

from __future__ import annotations

from typing import Final

NAMESPACES: Final = "/namespaces"
NAMESPACE: Final = "/namespaces/{namespace}"
TABLES: Final = f"{NAMESPACE}/tables"
TABLE: Final = f"{TABLES}/{{table}}"
VIEWS: Final = f"{NAMESPACE}/views"
VIEW: Final = f"{VIEWS}/{{view}}"
