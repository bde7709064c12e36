"""Everything between the network and the application: uvicorn, the log and health."""
