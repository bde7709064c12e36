"""Tasks of a sync: what other processes and machines run, and what becomes of their parts."""
