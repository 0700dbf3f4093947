"""Writing through the catalog: Iceberg's changes become commits on a branch."""
