"""HTTP in: Zoom's webhooks, the /v1 API and its read side."""
