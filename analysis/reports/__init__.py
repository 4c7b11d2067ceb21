"""Makes reports on runs and experiments: summary, notes, film, and the documents of studies."""
