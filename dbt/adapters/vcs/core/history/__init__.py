"""Revisions, commit graph and lineage."""
