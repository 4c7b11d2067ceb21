"""Executes notebooks in place, one after another, in one kernel. The arguments are their files."""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

import nbformat
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

_CELL_S = 240
_FORGET = "%reset -f"
"""Removes all names from the kernel."""


async def execute(paths: Sequence[Path]) -> None:
    """Execute the notebooks, each up to the first cell that fails; the cell's error is among its outputs.

    The cells of the first notebook are numbered from 1.
    """
    manager = AsyncKernelManager(kernel_name="python3")
    await manager.start_kernel()
    try:
        for number, path in enumerate(paths):
            notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
            before = [nbformat.v4.new_code_cell(_FORGET)] if number else []  # type: ignore[no-untyped-call]
            notebook.cells[:0] = before
            client = NotebookClient(notebook, km=manager, timeout=_CELL_S)
            try:
                await client.async_execute(reset_kc=True)
            except CellExecutionError as error:
                print(f"{path.name}: {error}", file=sys.stderr)
            del notebook.cells[: len(before)]
            nbformat.write(notebook, path)  # type: ignore[no-untyped-call]
    finally:
        await manager.shutdown_kernel(now=True)


if __name__ == "__main__":
    asyncio.run(execute([Path(word) for word in sys.argv[1:]]))
