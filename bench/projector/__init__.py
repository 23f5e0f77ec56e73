"""How fast a projector writes the rooms' read model, beside a bare COPY-and-upsert of the very same rows."""
