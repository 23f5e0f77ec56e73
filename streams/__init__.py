"""The stream processors: Faust transport, tables and agents, and the pure folds."""
