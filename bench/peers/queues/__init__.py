"""Job queues in PostgreSQL: procrastinate and pgqueuer, each as its manual recommends, with jobs that end at once."""
