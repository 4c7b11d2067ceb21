"""The few functions of libbpf.so.1 that load a program, attach it to a cgroup, and read what it tells.

iproute2 needs the same library, so it is there wherever the lab runs. Errors are CannotTune, with the kernel's reason.
"""

import ctypes
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Self

from proxy.tuner.tuner import CannotTune

_LIBRARY = "libbpf.so.1"
_Handle = ctypes.c_void_p
_OnRecord = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)


@cache
def _library() -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(_LIBRARY, use_errno=True)
    except OSError:
        raise CannotTune(f"{_LIBRARY} is not installed") from None
    signatures = {
        "bpf_object__open_file": (_Handle, (ctypes.c_char_p, ctypes.c_void_p)),
        "bpf_object__load": (ctypes.c_int, (_Handle,)),
        "bpf_object__close": (None, (_Handle,)),
        "bpf_object__find_program_by_name": (_Handle, (_Handle, ctypes.c_char_p)),
        "bpf_object__find_map_fd_by_name": (ctypes.c_int, (_Handle, ctypes.c_char_p)),
        "bpf_program__attach_cgroup": (_Handle, (_Handle, ctypes.c_int)),
        "bpf_link__destroy": (ctypes.c_int, (_Handle,)),
        "bpf_map_update_elem": (ctypes.c_int, (ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_uint64)),
        "ring_buffer__new": (_Handle, (ctypes.c_int, _OnRecord, ctypes.c_void_p, ctypes.c_void_p)),
        "ring_buffer__consume": (ctypes.c_int, (_Handle,)),
        "ring_buffer__free": (None, (_Handle,)),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    library.libbpf_set_print(None)  # its words are for programmers; the error numbers come back by themselves
    return library


def _reason() -> str:
    return os.strerror(ctypes.get_errno())


class Loaded:
    """A compiled program in the kernel. A context: at its end it is gone from there, and from where it was attached."""

    def __init__(self, file: Path) -> None:
        """Raises CannotTune, also for a user who may not."""
        self._lib = _library()
        self._links: list[int] = []
        self._rings: list[tuple[int, object]] = []
        self._object = self._lib.bpf_object__open_file(str(file).encode(), None)
        if not self._object:
            raise CannotTune(f"{file} cannot be opened: {_reason()}")
        if self._lib.bpf_object__load(self._object) != 0:
            reason = _reason()
            self._lib.bpf_object__close(self._object)
            raise CannotTune(f"the kernel does not take the program: {reason}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        for link in self._links:
            self._lib.bpf_link__destroy(link)
        for ring, _callback in self._rings:
            self._lib.ring_buffer__free(ring)
        self._lib.bpf_object__close(self._object)

    def _map(self, name: str) -> int:
        descriptor: int = self._lib.bpf_object__find_map_fd_by_name(self._object, name.encode())
        if descriptor < 0:
            raise CannotTune(f"the program has no map {name}")
        return descriptor

    def put(self, name: str, key: bytes, value: bytes) -> None:
        """An entry of one of its maps."""
        if self._lib.bpf_map_update_elem(self._map(name), key, value, 0) != 0:
            raise CannotTune(f"the map {name} cannot be filled: {_reason()}")

    def attach(self, program: str, cgroup: Path) -> None:
        """Let one of its programs work on a cgroup, and those below it, besides others that may be there."""
        found = self._lib.bpf_object__find_program_by_name(self._object, program.encode())
        try:
            descriptor = os.open(cgroup, os.O_RDONLY | os.O_DIRECTORY)
        except OSError as error:
            raise CannotTune(f"{cgroup}: {error.strerror}") from error
        try:
            link = self._lib.bpf_program__attach_cgroup(found, descriptor)
            reason = _reason()
        finally:
            os.close(descriptor)
        if not link:
            raise CannotTune(f"the program cannot be attached to {cgroup}: {reason}")
        self._links.append(link)

    def records(self, ring: str) -> Callable[[], list[bytes]]:
        """What to call for every record that has come to a ring buffer since the last call."""
        come: list[bytes] = []

        def on_record(_: int, data: int, size: int) -> int:
            come.append(ctypes.string_at(data, size))  # whatever else could fail would be lost in here
            return 0

        def take() -> list[bytes]:
            self._lib.ring_buffer__consume(buffer)
            taken = come.copy()
            come.clear()
            return taken

        callback = _OnRecord(on_record)
        buffer = self._lib.ring_buffer__new(self._map(ring), callback, None, None)
        if not buffer:
            raise CannotTune(f"the ring buffer {ring} cannot be read: {_reason()}")
        self._rings.append((buffer, callback))
        return take
