"""`python -m clock`: what this Python's clock is worth, as JSON."""

import json

from clock.quality import describe

if __name__ == "__main__":
    print(json.dumps(describe()))
