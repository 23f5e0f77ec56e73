"""From Kafka to the read model in PostgreSQL."""
