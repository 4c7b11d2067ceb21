"""The tuner for servers in use: priority-tuner, its Debian package, and what is measured and promised of it."""
