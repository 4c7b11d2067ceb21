"""The commands of priolab that are no run, sweep, study or demo, and what a terminal shows."""
