"""How long a worker with an empty disk takes to restore its state from the changelog: ours beside Kafka Streams."""
