"""An emulated machine with one processor. Its file system is a copy of a tree, in its memory.

The machine is arm64 for a foreign tree, and x86-64 for another one. Its clock counts instructions, each of which takes
a nanosecond. So programs are as fast by this clock as on a processor that carries out 10^9 instructions a second,
however long the emulation takes. While the machine waits, its clock jumps to the next timer. Needs Debian's package
cpio, and qemu-system-arm or qemu-system-x86.
"""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from tools.suites.tree import CannotMake, Tree, check_installed

_INIT = """#!/bin/sh
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8
mount -t proc proc /proc && mount -t sysfs sysfs /sys && mount -t devtmpfs devtmpfs /dev && mount -t tmpfs tmpfs /tmp
mkdir -p /dev/shm /out && mount -t tmpfs tmpfs /dev/shm && ip link set lo up
modprobe -a virtio_pci 9pnet_virtio 9p && mount -t 9p -o trans=virtio,version=9p2000.L out /out
[ -e /out/script ] || exec /lib/systemd/systemd --log-target=console
sh /out/script </dev/null >/out/log 2>&1
umount /out
echo o >/proc/sysrq-trigger
sleep 60
"""
SHARED = "/mnt/all"
_SHARING = f"""modprobe overlay
mkdir -p /mnt/read /mnt/write {SHARED}
mount -t tmpfs -o size=3g none /mnt/write && mkdir /mnt/write/up /mnt/write/work
mount -t 9p -o trans=virtio,version=9p2000.L,ro,msize=512000,cache=loose root /mnt/read
mount -t overlay -o lowerdir=/mnt/read,upperdir=/mnt/write/up,workdir=/mnt/write/work none {SHARED}
for each in proc sys dev; do mount --rbind /$each {SHARED}/$each; done
mkdir {SHARED}/dev/pts && mount -t devpts devpts {SHARED}/dev/pts
mkdir -p {SHARED}/out && mount --bind /out {SHARED}/out
"""
_LEFT_OUT = ("boot", "dev", "proc", "sys", "tmp", "usr/share/doc", "usr/share/man", "var/cache", "var/lib/apt")
_MEMORY = "4G"  # holds the file system twice while the machine starts
_ARM64 = ("qemu-system-aarch64", "-machine", "virt", "-cpu", "cortex-a72")
_X86_64 = ("qemu-system-x86_64", "-machine", "q35", "-cpu", "max")
_MACHINE = ("-smp", "1", "-m", _MEMORY, "-nodefaults", "-nographic", "-no-reboot")
_CLOCK = ("-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off")


def check() -> None:
    """Raises CannotMake without the programs that start an x86-64 machine, before minutes go into its file system."""
    check_installed({"debootstrap": "debootstrap", "cpio": "cpio", _X86_64[0]: "qemu-system-x86"})


def run(tree: Tree, script: str, out: Path, *, shared: bool = False, most_s: float) -> None:
    """Start the machine, carry out a shell script in it as root, and wait for the end. Raises CannotMake.

    out: a folder that the machine has as /out; the script's output is in its file `log`. shared: True to mount this
    machine's file system as SHARED; what is written there goes with the machine.
    """
    (out / "script").write_text(f"{_SHARING}{script}" if shared else script)
    boot(tree, out, shared=shared, most_s=most_s)


def boot(tree: Tree, out: Path, *, words: Sequence[str] = (), shared: bool = False, most_s: float) -> None:
    """Start the machine with the tree's systemd as its first process, and wait until it is off. Raises CannotMake.

    out: as for `run`. words: parameters for the kernel. shared: True if the machine may mount this machine's file
    system, read-only.
    """
    packed, console = tree.folder / "root.cpio", tree.folder / "console.log"
    _pack(tree, packed)
    (kernel,) = (tree.root / "boot").glob("vmlinuz-*")
    terminal = "ttyAMA0" if tree.foreign else "ttyS0"
    parameters = " ".join((f"console={terminal} quiet panic=-1 rdinit=/init", *words))
    command = [*(_ARM64 if tree.foreign else _X86_64), *_MACHINE, *_CLOCK, "-append", parameters]
    command += ["-kernel", str(kernel), "-initrd", str(packed), "-serial", f"file:{console}"]
    command += ["-virtfs", f"local,path={out},mount_tag=out,security_model=none"]
    if shared:
        command += ["-virtfs", "local,path=/,mount_tag=root,security_model=none,readonly=on,multidevs=remap"]
    try:
        _run(["setpriv", "--pdeathsig=KILL", *command], tree.folder, most_s)
    finally:
        packed.unlink()


def _pack(tree: Tree, packed: Path) -> None:
    """Write the tree's file system as an archive that the kernel unpacks into memory. Raises CannotMake."""
    (tree.root / "init").write_text(_INIT)
    (tree.root / "init").chmod(0o755)
    left_out = " -o ".join(f"-path './{each}/*'" for each in _LEFT_OUT)
    listing = rf"find . -xdev \( {left_out} \) -prune -o -print0"
    _run(["sh", "-c", f'{listing} | cpio -0 -o -H newc --quiet >"$0"', str(packed)], tree.root)


def _run(command: list[str], folder: Path, most_s: float | None = None) -> None:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=most_s)
    except subprocess.TimeoutExpired as error:
        raise CannotMake(f"the emulated machine took more than {most_s:g} s (see {folder})") from error
    if done.returncode != 0:
        raise CannotMake(f"{command[0]}: {done.stderr.strip()}")
