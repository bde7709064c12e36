"""Events as files and tables.

Others import `open.open_output`, which imports a format when it is asked for; `files.NoReader`;
`frames`; and, once a table is asked for, `batches`, `lines` and `schema`, which import pyarrow.
The package itself imports nothing, so that writing text loads no library of tables.
"""
