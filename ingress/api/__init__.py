"""The /v1 API: meetings, commands, rooms, instances and attendance."""
