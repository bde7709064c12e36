"""The demo: the whole system on generated data, checking itself."""
