"""Questions to the catalog, answered from the branch."""
