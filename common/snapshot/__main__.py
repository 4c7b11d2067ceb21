"""Prints the picture of this process's network namespace as JSON: `python -m priolab.common.snapshot`."""

import json

from priolab.common.snapshot.settings_snapshot import read

print(json.dumps(read()))
