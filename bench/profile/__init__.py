"""Where the time of a stream worker goes, on the simple fold and on the product's own."""
