"""The campaigns: many trials of what one test tries once. Their tables stand in RELIABILITY.md."""
