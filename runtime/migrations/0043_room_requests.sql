-- Rows of work are written four times in their short lives. Room on their pages lets a write that leaves the indexed
-- columns as they are stay there and touch no index; what is dead goes before it piles up.
ALTER TABLE room_requests SET (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0.01,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_analyze_scale_factor = 0.05
);
