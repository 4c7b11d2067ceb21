#!/bin/sh
# Installs everything that the lab needs on this machine: system packages, the Python environment, the guest kernel.
# Checks that Python is new enough; experiments/commands/setup.py does the rest with the standard library alone.
# make runs this script; every step can be repeated. `setup.sh PART` installs one part: environment (the Python
# environment only; other missing packages are listed), kernel, capture, chromium, firefox, webkit, servers, test, lint, notebook,
# demo, site, sweep, cost. `setup.sh PART -- COMMAND...` then carries out `priolab COMMAND...`, in the same process if the
# Python environment exists.
# PRIOLAB_KNOBS may name the server, the client and the fabric.
set -eu
export PYTHONUTF8=1  # the locale may have another encoding

python=${PYTHON:-python3}
command -v "$python" >/dev/null || {
    echo "setup: there is no $python; install Python 3.11 or newer, or name another interpreter: make PYTHON=..." >&2
    exit 1
}
cd "$(dirname "$0")/../.."
case " $* " in *" -- "*) # a chosen interpreter may have to make another environment
    [ -n "${PRIOLAB_PYTHON_IS_CHOSEN:-}" ] || [ ! -x .venv/bin/python ] || python=.venv/bin/python ;;
esac
# An archive may have been unpacked without links.
for name in analysis backend client common experiments extras netem proxy testbed .dockerignore compose.yaml; do
    [ ! -e "$name" ] || [ "priolab/$name" -ef "$name" ] || ln -sfn "../$name" "priolab/$name"
done
# As the launcher of `priolab` does it: Python ends with a traceback if Ctrl-C comes while it starts.
later=
env --block-signal=INT true 2>/dev/null && later="env --block-signal=INT"
exec $later "$python" -c '
import sys
if sys.version_info < (3, 11):
    version = ".".join(str(number) for number in sys.version_info[:3])
    sys.exit("setup: Python " + version + " is too old; Python 3.11 or newer is needed: make PYTHON=...")
from priolab.experiments.__main__ import set_up
sys.exit(set_up())
' "$@"
