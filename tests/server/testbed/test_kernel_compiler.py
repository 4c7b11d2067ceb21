"""Tests of the compiler script for the guest's kernel: headers are compiled once, and object files equal gcc's own."""

import subprocess
from pathlib import Path

import pytest

from priolab.common.running import Finished, finished
from priolab.testbed.guest.kernel_build import COMPILING

pytestmark = pytest.mark.usefixtures("gcc")

_OF_THE_KERNEL = ("compiler-version.h", "kconfig.h", "compiler_types.h")
_HEADERS = "".join(f"#include <linux/{name}>\n" for name in (*_OF_THE_KERNEL, "kernel.h"))
_KERNEL_H = "#ifndef KERNEL_H\n#define KERNEL_H\nstatic inline int twice(int value) { return 2 * value; }\n#endif\n"
_COMPILED = Path(".priolab-headers.h.gch")


class _Tree:
    """A source tree with headers, in which gcc.sh is called as the kernel's Makefiles call it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "include/linux").mkdir(parents=True)
        for name in _OF_THE_KERNEL:
            (root / "include/linux" / name).write_text("#define READ 1\n")
        (root / "include/linux/kernel.h").write_text(_KERNEL_H)
        for name in (".priolab-gcc", ".priolab-headers.h"):
            (root / name).write_bytes(COMPILING[name])
        (root / ".priolab-gcc").chmod(0o755)
        (root / ".priolab-headers.h").write_text(_HEADERS)

    def compile(self, text: str, *words: str, name: str = "a") -> Finished:
        """Compile `text` as the kernel's Makefiles compile a file."""
        (self.root / f"{name}.c").write_text(text)
        included = [word for header in _OF_THE_KERNEL for word in ("-include", f"./include/linux/{header}")]
        named = [f'-DKBUILD_MODFILE="dir/{name}"', f'-DKBUILD_MODNAME="{name}"', f"-D__KBUILD_MODNAME=kmod_{name}"]
        dependencies = Path(name).with_name(f".{Path(name).name}.o.d")
        command = ["./.priolab-gcc", f"-Wp,-MMD,{dependencies}", "-nostdinc", "-I./include", *included, "-O2", *words]
        return finished([*command, *named, "-c", "-o", f"{name}.o", f"{name}.c"], 60, folder=self.root)

    def symbols(self, name: str = "a") -> list[str]:
        """Return the symbols of the object file."""
        command = ["nm", "--format=just-symbols", f"{name}.o"]
        return finished(command, 60, folder=self.root).checked().out.split()

    def strings(self, name: str = "a") -> str:
        """Return the bytes of the object file as text."""
        return (self.root / f"{name}.o").read_bytes().decode("latin-1")


@pytest.fixture
def tree(tmp_path: Path) -> _Tree:
    """Return a new source tree."""
    return _Tree(tmp_path)


def test_headers_are_compiled_once(tree: _Tree) -> None:
    """A second file does not read the headers again. Its KBUILD names are its own."""
    text = "#include <linux/kernel.h>\nint READ_ME(void) { return twice(READ); }\nconst char *name = KBUILD_MODNAME;\n"
    assert tree.compile(text).code == 0
    assert (tree.root / _COMPILED).exists()
    (tree.root / "include/linux/kernel.h").write_text("#ifndef KERNEL_H\n#error read again\n#endif\n")
    assert tree.compile(text, name="b").code == 0
    assert tree.symbols("b") == ["READ_ME", "name"]
    assert "b\0" in tree.strings("b")
    assert (tree.root / ".b.o.d").read_text() == "b.o: b.c\n"
    left = {path.name for path in tree.root.glob(".priolab-headers.h.*")}
    assert left == {_COMPILED.name, ".priolab-headers.h.tried"}


def test_a_file_that_takes_no_compiled_headers(tree: _Tree) -> None:
    """A file is compiled without the compiled headers if it has other options or defines the headers' names.
    Its dependencies are recorded.
    """
    assert tree.compile("int first;\n").code == 0
    own = "int twice(void) { return 4; }\n"
    assert tree.compile(own, name="b").code == 0
    assert tree.symbols("b") == ["twice"]
    assert "include/linux/compiler_types.h" in (tree.root / ".b.o.d").read_text()
    assert tree.compile("#include <linux/kernel.h>\nint v(void) { return twice(2); }\n", "-fPIC", name="c").code == 0
    assert "include/linux/kernel.h" in (tree.root / ".c.o.d").read_text()


def test_a_mistake_is_told_once(tree: _Tree) -> None:
    """An error in a file is printed once, in gcc's words."""
    done = tree.compile("int broken(void) { return nothing; }\n")
    assert done.code == 1
    assert done.errors.count("error:") == 1
    assert "nothing" in done.errors


def test_headers_that_do_not_compile_are_tried_once(tree: _Tree) -> None:
    """If the headers do not compile, as with a kernel that lacks one, each file is compiled without them."""
    (tree.root / ".priolab-headers.h").write_text("#include <linux/nowhere.h>\n")
    for name in "ab":
        assert tree.compile("int here;\n", name=name).code == 0
    assert not (tree.root / _COMPILED).exists()
    assert tree.symbols("b") == ["here"]


def test_headers_wait_until_they_are_complete(tree: _Tree) -> None:
    """The headers are compiled only when all exist. Earlier files, the Makefiles' tools, are compiled without them."""
    (tree.root / "include/linux/kernel.h").rename(tree.root / "kernel.h")
    (tree.root / "scripts").mkdir()
    assert tree.compile("int tool;\n", name="scripts/tool").code == 0
    (tree.root / "kernel.h").rename(tree.root / "include/linux/kernel.h")
    assert tree.compile("int here;\n").code == 0
    assert (tree.root / _COMPILED).exists()


def test_the_hosts_half_is_left_alone(tree: _Tree) -> None:
    """A file that reads no kernel headers is passed to gcc unchanged."""
    (tree.root / "host.c").write_text('#include <stdio.h>\nint main(void) { return puts("host") < 0; }\n')
    command = ["./.priolab-gcc", "-o", "host", "host.c"]
    subprocess.run(command, cwd=tree.root, check=True, timeout=60)
    assert subprocess.run(["./host"], cwd=tree.root, capture_output=True, check=True).stdout == b"host\n"
    assert not (tree.root / ".priolab-headers.h.tried").exists()
