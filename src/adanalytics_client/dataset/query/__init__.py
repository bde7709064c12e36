"""SQL over datasets by DuckDB: the files, the views over them, and sessions."""
