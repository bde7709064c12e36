"""The profiles of the command line, and the logins that `adanalytics login` stored."""
