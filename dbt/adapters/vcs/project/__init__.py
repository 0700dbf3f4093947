"""The dbt side: the invocation, its run, its documents."""

from __future__ import annotations
