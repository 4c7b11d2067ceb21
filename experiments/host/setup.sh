#!/bin/sh
# Everything the lab needs on this machine: system packages, the Python environment, the guest kernel.
# Python does it (experiments/commands/setup.py), with nothing but its standard library; this only finds one that is new enough.
# Run by make; any step can be repeated. `setup.sh PART` sees to a part: environment (Python's, and notes of what else is
# missing), capture, chromium, servers, test, lint, notebook, demo, sweep. PRIOLAB_KNOBS may name the server, the client and
# the fabric that are wanted.
set -eu

python=${PYTHON:-python3}
command -v "$python" >/dev/null || {
    echo "setup: there is no $python; install Python 3.11 or newer, or name one that is there: make PYTHON=..." >&2
    exit 1
}
cd "$(dirname "$0")/../.."
exec "$python" -c '
import sys
if sys.version_info < (3, 11):
    version = ".".join(str(number) for number in sys.version_info[:3])
    sys.exit("setup: Python " + version + " is too old; Python 3.11 or newer is needed: make PYTHON=...")
from experiments.commands.setup import main
sys.exit(main())
' "$@"
