"""The checks of a run's settings and traffic. A difference from the request makes the run invalid."""
