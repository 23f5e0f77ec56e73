"""Bodies of Zoom's webhooks, as documented and as seen live."""
