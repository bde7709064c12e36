"""The exact rolling hour of requests, shared by the processes of a user."""
