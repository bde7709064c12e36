"""A dataset of hourly files that is kept equal to the service."""
