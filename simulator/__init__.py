"""A Zoom that can fail: REST with limits, signed webhooks with retries, and faults to order."""
