"""`python -m tools.campaigns.fuzz [PROTOCOL SEED FRAMES]` does one run; without arguments, all runs of seeds.json."""

import json
import sys
import time
from pathlib import Path

from tools.campaigns.fuzz.session import PROTOCOLS, fuzz

SEEDS = Path(__file__).with_name("seeds.json")


def main() -> int:
    """Return the exit code. An exception that an engine must not raise ends the program."""
    words = sys.argv[1:]
    if words and (len(words) != 3 or words[0] not in PROTOCOLS or not all(word.isdigit() for word in words[1:])):
        print(f"usage: python -m tools.campaigns.fuzz [{'|'.join(PROTOCOLS)} SEED FRAMES]", file=sys.stderr)
        return 2
    runs = [{"protocol": words[0], "seed": words[1], "frames": words[2]}] if words else json.loads(SEEDS.read_text())
    total = 0
    for run in runs:
        began_s = time.monotonic()
        found = fuzz(run["protocol"], int(run["seed"]), int(run["frames"]))
        total += found.frames
        print(f"{run['protocol']}, seed {run['seed']}: {found}, {time.monotonic() - began_s:.0f} s", flush=True)
    print(f"{total:,} frames")
    return 0


if __name__ == "__main__":
    sys.exit(main())
