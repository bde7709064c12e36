"""The test controls: everything that a test can do to a server while it runs."""
