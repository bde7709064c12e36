"""The commands that talk to the service, one a file, imported only to run."""
