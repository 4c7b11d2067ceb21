"""Packages of Debian: what apt can install, and the packages of any suite."""
