"""The embedded reference server: the partner ad-analytics API on a folder of SQLite files.

Everything here needs the ``server`` extra. Start with ``adanalytics_server.local`` in tests,
with ``adanalytics_server.app`` for an ASGI application.
"""
