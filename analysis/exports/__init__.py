"""Results in the formats of other programs: values in, a document or tables out. `formats` has the table of them."""
