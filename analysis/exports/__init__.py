"""Converts results into the formats of other programs: values in, a document or tables out. `formats` lists them."""
