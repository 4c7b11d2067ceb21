"""The checks of a run's settings and traffic. A difference from what was asked for makes the run invalid."""
