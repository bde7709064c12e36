"""The lists beside the events: the dates, and the summary."""
