"""What repairs and carries out: the room worker, the poller, the outbox relay, the dead-letter tools."""
