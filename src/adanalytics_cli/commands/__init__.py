"""The commands that talk to the service, one per file, imported only to run."""
