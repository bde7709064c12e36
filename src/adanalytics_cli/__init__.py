"""The `adanalytics` command: built on the client alone, started as `adanalytics` or `python -m`."""
