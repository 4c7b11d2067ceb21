"""Compiles the tuner's BPF program before the runs."""

from priolab.common.cache_folder import cache_folder
from priolab.common.tuning import TunerKind
from priolab.experiments.errors import Unavailable
from priolab.experiments.host.tools import TunerOrder
from priolab.proxy.tuner import compiler
from priolab.proxy.tuner.libbpf import Loaded
from priolab.proxy.tuner.tuner import CannotTune


def lack_of_compiler() -> str | None:
    """Returns why the tuner's BPF program cannot be compiled on this machine; None if it can be compiled."""
    try:
        compiler.compiled(cache_folder())
    except CannotTune as error:
        return str(error)
    return None


def lack_on_host() -> str | None:
    """Returns why this user cannot load the tuner's BPF program into this machine's kernel; None if this user can."""
    try:
        with Loaded(compiler.compiled(cache_folder())):
            return None
    except CannotTune as error:
        return str(error)


def prepare(kind: TunerKind | None) -> TunerOrder:
    """Compiles the tuner's BPF program if TUNER allows bpf. Raises Unavailable."""
    if kind and not kind.is_in_kernel:
        return TunerOrder(kind=kind)
    try:
        return TunerOrder(kind=kind, program=str(compiler.compiled(cache_folder())))
    except CannotTune as error:
        if kind and kind.is_in_kernel:
            remedy = ", or ".join(filter(None, (error.remedy, "use TUNER=userland")))
            raise Unavailable(f"TUNER={kind}", str(error), remedy) from error
        return TunerOrder(kind=kind, lack=f"{error} ({error.remedy})" if error.remedy else str(error))
