"""A dataset: a folder or address of hourly files that is kept equal to the service."""
