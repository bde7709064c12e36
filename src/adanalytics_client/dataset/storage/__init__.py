"""Where a dataset lies: a folder of this machine, or an object store."""
