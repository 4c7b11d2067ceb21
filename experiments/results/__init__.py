"""The run folder, the order in it, and digests of the lab's own files."""
