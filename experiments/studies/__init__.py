"""Studies: several experiments, compared, and the document or picture that comes of them."""
