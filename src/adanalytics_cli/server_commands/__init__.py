"""The commands below `adanalytics server`, which work on a data folder."""
