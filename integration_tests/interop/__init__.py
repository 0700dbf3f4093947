"""Clients of Iceberg at a repository that is served: ``make interop``."""
