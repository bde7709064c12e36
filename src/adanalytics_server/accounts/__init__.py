"""Partners and users, their credentials, and how often each credential may ask."""
