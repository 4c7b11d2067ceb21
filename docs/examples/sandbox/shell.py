"""Typing over ssh beside a copy by scp. `shell.py serve`, or `shell.py type BYTES`.

Needs OpenSSH. Both places have one HOME, where the server makes the keys and the file to copy.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

HOME = Path(os.environ["HOME"])
KEY, HOST_KEY, LARGE = HOME / "key", HOME / "host_key", HOME / "large"
CLIENT = ["-i", f"{KEY}", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-q"]
SERVER = [
    "Subsystem=sftp internal-sftp",
    f"AuthorizedKeysFile={KEY}.pub",
    "StrictModes=no",
    "UsePAM=yes",  # else sshd refuses a user whose password is locked
    f"SetEnv=HOME={HOME}",
]


def serve() -> None:
    """Makes keys, and runs sshd."""
    for key in (KEY, HOST_KEY):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    options = [word for each in SERVER for word in ("-o", each)]
    subprocess.run(["/usr/sbin/sshd", "-D", "-e", "-f", "/dev/null", "-h", HOST_KEY, *options], check=True)


def type_beside_copy(size_bytes: int) -> None:
    """Types a key every 100 ms, first alone, then while a file is copied; prints how long the echoes take."""
    LARGE.write_bytes(bytes(size_bytes))
    with subprocess.Popen(
        ["ssh", *CLIENT, "server", "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    ) as shell:
        assert shell.stdin is not None
        assert shell.stdout is not None

        def echo_ms() -> float:
            time.sleep(0.1)
            begun = time.monotonic()
            shell.stdin.write(b"x")
            shell.stdout.read(1)
            return (time.monotonic() - begun) * 1000

        echo_ms()  # after the connection
        alone = echo_ms()
        with subprocess.Popen(["scp", *CLIENT, f"server:{LARGE}", HOME / "copy"]) as copy:
            beside = []
            while copy.poll() is None:
                beside.append(echo_ms())
        shell.stdin.close()
    print(f"echo after {alone:.1f} ms alone, {sorted(beside)[len(beside) // 2]:.1f} ms beside the copy,", end=" ")
    print(f"{max(beside):.1f} ms at worst")


if __name__ == "__main__":
    serve() if sys.argv[1] == "serve" else type_beside_copy(int(sys.argv[2]))
