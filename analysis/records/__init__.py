"""Reads and checks the files of run folders."""
