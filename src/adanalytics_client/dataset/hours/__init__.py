"""The events of hours: read, sorted, added up and written."""
