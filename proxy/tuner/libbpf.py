"""Loads BPF programs, attaches them to a cgroup or to tracepoints, and reads their maps, with functions of libbpf.so.1.

iproute2 needs the same library, so every machine of the lab has it. All errors are CannotTune, with the kernel's
reason.
"""

import ctypes
import errno
import os
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Self

_LIBRARY = "libbpf.so.1"
_MAY_NOT = "run as root; in a container, add the capabilities CAP_BPF and CAP_NET_ADMIN"
_Handle = ctypes.c_void_p
_OnRecord = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)


class CannotTune(Exception):
    """A BPF program cannot do its work here; the text is the reason. remedy: what the user can do; empty if unknown."""

    def __init__(self, reason: str, remedy: str = "") -> None:
        super().__init__(reason)
        self.remedy = remedy


@cache
def _library() -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(_LIBRARY, use_errno=True)
    except OSError:
        raise CannotTune(f"{_LIBRARY} is not installed", "install libbpf1") from None
    signatures = {
        "bpf_object__open_file": (_Handle, (ctypes.c_char_p, ctypes.c_void_p)),
        "bpf_object__load": (ctypes.c_int, (_Handle,)),
        "bpf_object__close": (None, (_Handle,)),
        "bpf_object__find_program_by_name": (_Handle, (_Handle, ctypes.c_char_p)),
        "bpf_object__find_map_fd_by_name": (ctypes.c_int, (_Handle, ctypes.c_char_p)),
        "bpf_program__attach": (_Handle, (_Handle,)),
        "bpf_program__attach_cgroup": (_Handle, (_Handle, ctypes.c_int)),
        "bpf_link__destroy": (ctypes.c_int, (_Handle,)),
        "bpf_map_update_elem": (ctypes.c_int, (ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_uint64)),
        "bpf_map_lookup_elem": (ctypes.c_int, (ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)),
        "libbpf_num_possible_cpus": (ctypes.c_int, ()),
        "ring_buffer__new": (_Handle, (ctypes.c_int, _OnRecord, ctypes.c_void_p, ctypes.c_void_p)),
        "ring_buffer__consume": (ctypes.c_int, (_Handle,)),
        "ring_buffer__free": (None, (_Handle,)),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    library.libbpf_set_print(None)  # no messages on standard error: functions return error numbers
    return library


def _reason() -> str:
    return os.strerror(ctypes.get_errno())


class Ring:
    """A ring buffer that a loaded program fills with records and this process reads."""

    def __init__(self, library: ctypes.CDLL, descriptor: int, name: str) -> None:
        self._lib = library
        self._come: list[bytes] = []
        self._callback = _OnRecord(self._on_record)
        self._buffer = library.ring_buffer__new(descriptor, self._callback, None, None)
        if not self._buffer:
            raise CannotTune(f"the ring buffer {name} cannot be read: {_reason()}")

    def _on_record(self, _: int, data: int, size: int) -> int:
        self._come.append(ctypes.string_at(data, size))  # no more, as ctypes ignores exceptions in a callback
        return 0

    def take(self) -> list[bytes]:
        """Returns the records that have arrived since the last call."""
        self._lib.ring_buffer__consume(self._buffer)
        taken = self._come.copy()
        self._come.clear()
        return taken

    def free(self) -> None:
        """Frees the ring buffer, which must not be used afterwards."""
        self._lib.ring_buffer__free(self._buffer)


class Loaded:
    """A compiled BPF program in the kernel. A context; the exit detaches and unloads the program."""

    def __init__(self, file: Path) -> None:
        """Loads the file. Raises CannotTune, also if the user lacks the permission."""
        self._lib = _library()
        self._links: list[int] = []
        self._rings: list[Ring] = []
        self._object = self._lib.bpf_object__open_file(str(file).encode(), None)
        if not self._object:
            raise CannotTune(f"{file} cannot be opened: {_reason()}")
        if self._lib.bpf_object__load(self._object) != 0:
            reason, may_not = _reason(), ctypes.get_errno() in (errno.EPERM, errno.EACCES)
            self._lib.bpf_object__close(self._object)
            raise CannotTune(f"the kernel refuses the BPF program: {reason}", _MAY_NOT if may_not else "")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Detaches and unloads the program, which must not be used afterwards."""
        self.detach()
        for ring in self._rings:
            ring.free()
        self._lib.bpf_object__close(self._object)

    def _map(self, name: str) -> int:
        descriptor: int = self._lib.bpf_object__find_map_fd_by_name(self._object, name.encode())
        if descriptor < 0:
            raise CannotTune(f"the BPF program has no map {name}")
        return descriptor

    def put(self, name: str, key: bytes, value: bytes) -> None:
        """Writes an entry into one of the program's maps. name: the name of the map."""
        if self._lib.bpf_map_update_elem(self._map(name), key, value, 0) != 0:
            raise CannotTune(f"the BPF map {name} cannot be written: {_reason()}")

    def numbers(self, name: str, key: bytes, count: int) -> list[int]:
        """Returns the 64-bit numbers of an entry of a per-processor map, each the sum over all processors.

        They are 0 without such an entry. count: how many numbers an entry has.
        """
        values = (ctypes.c_uint64 * (count * self._lib.libbpf_num_possible_cpus()))()
        if self._lib.bpf_map_lookup_elem(self._map(name), key, ctypes.byref(values)) != 0:
            if ctypes.get_errno() != errno.ENOENT:
                raise CannotTune(f"the BPF map {name} cannot be read: {_reason()}")
            return [0] * count
        return [sum(values[at::count]) for at in range(count)]

    def attach(self, program: str, cgroup: Path | None = None) -> None:
        """Attaches a function of the program to a cgroup and its descendants, in addition to other programs there.

        program: the name of the function. cgroup: the cgroup's folder; None for a function that names its own place,
        such as a tracepoint. Raises CannotTune.
        """
        found = self._lib.bpf_object__find_program_by_name(self._object, program.encode())
        link = self._lib.bpf_program__attach(found) if cgroup is None else self._attached(found, cgroup)
        if not link:
            where = cgroup or "its tracepoint"
            raise CannotTune(f"the BPF program cannot be attached to {where}: {_reason()}")
        self._links.append(link)

    def _attached(self, found: int, cgroup: Path) -> int | None:
        try:
            descriptor = os.open(cgroup, os.O_RDONLY | os.O_DIRECTORY)
        except OSError as error:
            raise CannotTune(f"{cgroup}: {error.strerror}") from error
        try:
            link: int | None = self._lib.bpf_program__attach_cgroup(found, descriptor)
        finally:
            os.close(descriptor)
        return link

    def detach(self) -> None:
        """Detaches the program from wherever it is attached."""
        while self._links:
            self._lib.bpf_link__destroy(self._links.pop())

    def ring(self, name: str) -> Ring:
        """Opens a ring buffer of the program."""
        ring = Ring(self._lib, self._map(name), name)
        self._rings.append(ring)
        return ring
