"""Scenarios, testbeds, runs, experiments and sweeps, and the command line.

FLOORS has the layers of this package, the lowest first, each with its packages and modules. None of them imports from
a layer above its own; `lint-imports` checks that.
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
"""The layer that writes run.json. It and the layers below it decide results."""
