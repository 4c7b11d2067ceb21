"""Prints the picture of this process's network namespace as JSON: `python -m common.picture`, in a container."""

import json

from common.picture.picture import read

print(json.dumps(read()))
