"""The hub: scenarios, testbeds, runs, experiments and sweeps, and the command line.

FLOORS are its rooms, the lowest first. A room imports none above it; `lint-imports` checks that.
"""

FLOORS = (
    ("errors",),
    ("scenario",),
    ("host",),
    ("results",),
    ("testbed",),
    ("run",),
    ("execution",),
    ("commands",),
    ("sweep", "demo"),
    ("studies", "benches"),
    ("cli",),
    ("__main__",),
)
CONCLUDING = "execution"
"""The floor that writes run.json: the floors up to it decide results."""
