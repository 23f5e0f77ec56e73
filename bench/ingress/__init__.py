"""How many webhooks a second one process acknowledges, beside the bare work and nothing at all on the same server."""
