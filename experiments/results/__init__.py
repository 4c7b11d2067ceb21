"""The results folder, the run folders in it, their orders, and digests of the lab's own files."""
