"""`python3 package_pins.py FILE`: prints the packages of a server.toml as PACKAGE=VERSION, for apt-get in an image."""

import sys
import tomllib
from pathlib import Path

entry = tomllib.loads(Path(sys.argv[1]).read_text())
print(*(f"{package}={entry['image_version']}" for package in entry["packages"]))
