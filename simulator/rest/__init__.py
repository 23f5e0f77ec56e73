"""Zoom's REST side: tokens, meetings, past meetings, registrants, webhook logs."""
