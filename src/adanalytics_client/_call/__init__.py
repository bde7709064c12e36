"""Send one request until it succeeds or cannot be retried."""
