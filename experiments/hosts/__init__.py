"""The places of a run (client, link, front and origin), made as namespaces, as containers, or in a guest."""
