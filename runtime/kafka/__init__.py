"""Kafka as Roomkeeper uses it: one place for client settings, the producer, and what its errors mean."""
