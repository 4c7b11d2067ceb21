"""Places as containers: the services of compose.yaml."""
