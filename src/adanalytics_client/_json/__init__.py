"""JSON as the service sends it: exact numbers, and pages in which every byte is validated."""
