"""Pull queries: pages, export files, and where both are kept until their hours are committed."""
