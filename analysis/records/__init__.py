"""Run folders: their files, read and checked, as values."""
