"""Whether events cost more as meetings, or connections of one meeting, become many: our engine, the fold of rooms."""
