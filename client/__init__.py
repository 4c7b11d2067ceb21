"""The HTTP and SPDY client: sends the plan's requests and records the arrival time of each piece of the responses."""
