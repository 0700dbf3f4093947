"""Iceberg metadata made from manifests: tables and views as other engines read them."""
