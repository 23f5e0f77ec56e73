"""From a webhook posted to its row readable in PostgreSQL, through every role, at a steady rate: p50 and p99."""
