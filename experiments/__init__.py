"""Scenarios, hosts, runs, experiments and sweeps, and the command line.

FLOORS lists the layers of this package, the lowest first. A layer is a tuple of packages and modules, which import
nothing from the layers above; `lint-imports` checks the imports.
"""

FLOORS = (
    ("scenario",),
    ("setup",),
    ("results",),
    ("hosts",),
    ("run",),
    ("execution",),
    ("commands",),
    ("sweep",),
    ("run_command", "show_command"),
    ("cli",),
    ("completion_command",),
    ("__main__",),
    ("command_server",),
)
CONCLUDING = "execution"
"""The layer that writes run.json. This layer and the layers below decide the results."""
