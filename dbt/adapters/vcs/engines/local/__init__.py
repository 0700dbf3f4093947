"""DuckDB in this process: rows in SQL without Java, within a limit of memory."""
