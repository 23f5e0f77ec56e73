"""The room worker: exactly one Zoom room for each meeting."""
