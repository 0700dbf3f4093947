"""Rows compared: which are equal, which are new, which are gone."""
