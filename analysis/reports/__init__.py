"""Reports: what runs and experiments come to, in one document each."""
