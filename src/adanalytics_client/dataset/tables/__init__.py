"""Tables that list the files of a dataset: what both formats share, Delta, and Iceberg."""
