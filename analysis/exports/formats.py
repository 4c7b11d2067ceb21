"""Lists the export formats, and makes the files of each format."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from priolab.analysis.exports import har, perfetto, qlog, tables
from priolab.analysis.exports.recording import Album


@dataclass(frozen=True, kw_only=True)
class File:
    """A file of an export, with its content."""

    name: str
    content: bytes


@dataclass(frozen=True, kw_only=True)
class Format:
    """An export format.

    writes: a description of the format's files. files: the function that makes these files. library: the name of a
    Python module that is not always installed; without this module `files` raises ImportError.
    """

    writes: str
    files: Callable[[Album], list[File]]
    library: str | None = None


def _har(album: Album) -> list[File]:
    return [_json(f"{each.name}.har", har.document(album, each)) for each in album.recordings]


def _perfetto(album: Album) -> list[File]:
    return [_json("perfetto.json", perfetto.document(album))]


def _qlog(album: Album) -> list[File]:
    return [_json("experiment.qlog", qlog.document(album))]


def _csv(album: Album) -> list[File]:
    return [File(name=f"{table.name}.csv", content=tables.as_csv(table)) for table in tables.tables(album)]


def _parquet(album: Album) -> list[File]:
    return [File(name=f"{table.name}.parquet", content=tables.as_parquet(table)) for table in tables.tables(album)]


def _json(name: str, document: Mapping[str, Any]) -> File:
    return File(name=name, content=json.dumps(document, separators=(",", ":"), allow_nan=False).encode() + b"\n")


FORMATS: dict[str, Format] = {
    "har": Format(writes="HAR 1.2, a file per run, with chunks and priorities", files=_har),
    "perfetto": Format(writes="a Chrome trace of all runs, for Perfetto", files=_perfetto),
    "qlog": Format(writes="qlog of all runs: client, server, link", files=_qlog),
    "csv": Format(writes="tables: loads, resources, events, arrivals, samples", files=_csv),
    "parquet": Format(writes="the tables of the format csv, with column types", files=_parquet, library="pyarrow"),
}
