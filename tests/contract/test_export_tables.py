"""The table exports: Python and DuckDB read the CSV files, and DuckDB reads the Parquet files."""

import csv
import io
from pathlib import Path

import duckdb
import pytest

from priolab.analysis.exports import tables
from priolab.analysis.exports.recording import Album, album
from priolab.analysis.records.runs import load_experiment

_GOLDEN = Path(__file__).parent.parent / "golden"


@pytest.fixture(scope="module")
def golden() -> Album:
    """The recordings of the newest golden folder."""
    return album(load_experiment(max(_GOLDEN.iterdir())))


def test_every_table_is_tidy(golden: Album) -> None:
    """Each row names its arm and run, and has a value of the column's type, or None, in every column."""
    made = {table.name: table for table in tables.tables(golden)}
    assert list(made) == ["loads", "resources", "ledger", "events", "arrivals", "sockets", "queue"]
    for table in made.values():
        assert list(table.columns)[:2] == ["arm", "run"]
        for row in table.rows:
            wrong = {name: row[name] for name, kind in table.columns.items() if not isinstance(row[name], kind | None)}
            assert wrong == {}
        assert {row["run"] for row in table.rows} == {"control.1", "lowat-16384.1"}


def test_csv_is_read(golden: Album) -> None:
    """Python's csv reader returns every value, and an empty field for None."""
    for table in tables.tables(golden):
        rows = list(csv.DictReader(io.StringIO(tables.as_csv(table).decode())))
        assert len(rows) == len(table.rows)
        for read, row in zip(rows, table.rows, strict=True):
            for name, kind in table.columns.items():
                value = row[name]
                if kind is bool:
                    assert read[name] == str(value).lower()
                else:
                    assert (kind(read[name]) if read[name] else None) == value


def test_another_library_reads_parquet(golden: Album, tmp_path: Path) -> None:
    """DuckDB reads the columns, their types and every value; a missing value is null."""
    names = {str: "VARCHAR", int: "BIGINT", float: "DOUBLE", bool: "BOOLEAN"}
    for table in tables.tables(golden):
        file = tmp_path / f"{table.name}.parquet"
        file.write_bytes(tables.as_parquet(table))
        found = duckdb.read_parquet(str(file))
        kinds = {name: str(kind) for name, kind in zip(found.columns, found.types, strict=True)}
        assert kinds == {name: names[kind] for name, kind in table.columns.items()}
        assert found.fetchall() == [tuple(row[name] for name in table.columns) for row in table.rows]


def test_a_question_to_the_tables(golden: Album, tmp_path: Path) -> None:
    """A join of two CSV tables by run returns the most unsent bytes of each arm in the measured load."""
    for table in tables.tables(golden):
        (tmp_path / f"{table.name}.csv").write_bytes(tables.as_csv(table))
    sql = f"""
        select s.arm, max(s.notsent_bytes) from '{tmp_path}/sockets.csv' s join '{tmp_path}/loads.csv' l using (run)
        where l.measured and s.since_page_ms between 0 and l.important_last_byte_ms group by 1 order by 1
    """
    expected = [
        (each.arm, max(s.notsent_bytes for s in each.sockets if s.t_ns >= each.measured.started_ns))
        for each in golden.recordings
    ]
    assert duckdb.execute(sql).fetchall() == expected
