"""Places for one run: client, link, front and origin, as namespaces, as containers, or in a guest."""
