"""The way to Zoom that all processes share through PostgreSQL: tokens, rates, budgets of the day, circuit breakers."""
