"""Reproduces the article's pictures: its reports, the measurements here, and if the two agree."""
