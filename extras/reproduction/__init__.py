"""Reproduces the article's pictures: what the article reports, what the lab measures, and if the two agree."""
