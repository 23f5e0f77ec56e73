"""How fast a million dead letters are known, listed and put back, and in how much memory."""
