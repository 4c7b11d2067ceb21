"""Prints the picture of this process's network namespace as JSON: `python -m priolab.common.picture`."""

import json

from priolab.common.picture.picture import read

print(json.dumps(read()))
