"""First contact: ask the service what its public documents leave open."""
