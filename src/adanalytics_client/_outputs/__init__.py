"""Events as files and tables.

Other folders import `open.open_output`, which imports a format on demand; `frames`; and, for a
table, `batches`, `lines` and `schema`, which import pyarrow. The package itself imports nothing, so
that writing text loads no library for tables.
"""
