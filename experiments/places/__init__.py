"""Places: client, link, front and origin of one run, as namespaces or as containers."""
