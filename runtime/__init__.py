"""What every process needs from its surroundings: settings, clock, logs, metrics, Kafka and PostgreSQL."""
