"""The data folder: SQLite files and their content.

Two ways lead to SQLite, and neither blocks the event loop:

- ``state.db`` (users, keys, partners, exports) is for coroutines. ``state.State`` accesses it
  through aiosqlite: one connection writes, another one reads what is committed.
- Partners' events and the request limit are for threads: endpoints run in a pool of them, loads and
  exports in one of their own. ``store.PartnerStore`` and the rate limiter use ``sqlite3``.

The tables of all files are in ``schema``. An event is described in
``events``, its rows are written in ``ingest`` and read in ``pages``.
"""
