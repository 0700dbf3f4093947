"""Parquet files of rows and of tombstones: written, read, and what their footers say."""
