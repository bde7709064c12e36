"""The only folder that sends: one driver for threads and one for tasks, both over httpx."""
