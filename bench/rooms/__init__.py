"""Room work: requests claimed and settled per second, beside job queues in PostgreSQL; how soon work is taken up."""
