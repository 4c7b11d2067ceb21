"""The HTTP and SPDY client: sends the requests of a plan and records the arrival time of each piece of a response."""
