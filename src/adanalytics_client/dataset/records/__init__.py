"""What a dataset holds, according to its own records."""
