"""Rows of Parquet files, read, compared and written in this process."""
