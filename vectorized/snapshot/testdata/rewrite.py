"""Rewrites files of a snapshot with another Parquet writer. usage: rewrite.py WRITER FILE..."""

import os
import sys

import pyarrow as pa
import pyarrow.parquet as pq



def pyarrow(**options):
    pq.write_table(table, target, **options)


def shuffled():
    """Other column order, one more column, small pages and groups, no dictionaries."""
    names = list(reversed(table.column_names))
    other = table.select(names).append_column("note", pa.array(["x"] * table.num_rows))
    pq.write_table(other, target, row_group_size=2, data_page_size=64, use_dictionary=False, compression="none")


def without_zone():
    """Timestamps that do not say that they are of UTC."""
    naive = pa.schema([pa.field(f.name, pa.timestamp(f.type.unit) if pa.types.is_timestamp(f.type) else f.type) for f in table.schema])
    pq.write_table(table.cast(naive), target)


def polars():
    import polars

    polars.from_arrow(table).write_parquet(target, row_group_size=3)


def duckdb():
    import duckdb

    duckdb.sql(f"copy (from '{source}') to '{target}' (format parquet, compression zstd, row_group_size 2048)")


writer = {
    "pyarrow": lambda: pyarrow(compression="snappy"),
    "pyarrow-v1-pages": lambda: pyarrow(compression="gzip", data_page_version="1.0"),
    "pyarrow-delta": lambda: pyarrow(
        compression="zstd",
        use_dictionary=False,
        column_encoding={name: encoding for name, encoding in {
            "partition": "DELTA_BINARY_PACKED", "offset": "DELTA_BINARY_PACKED", "revision": "DELTA_BINARY_PACKED",
            "valid_time": "DELTA_BINARY_PACKED", "qty": "DELTA_BINARY_PACKED", "txn_id": "DELTA_BYTE_ARRAY",
            "item": "DELTA_LENGTH_BYTE_ARRAY", "kind": "DELTA_BYTE_ARRAY",
            "key": "DELTA_BYTE_ARRAY", "value": "DELTA_LENGTH_BYTE_ARRAY",
        }.items() if name in table.column_names},
    ),
    "pyarrow-dictionary": lambda: pyarrow(compression="zstd", use_dictionary=True, dictionary_pagesize_limit=64, row_group_size=5),
    "pyarrow-micros": lambda: pyarrow(coerce_timestamps="us", allow_truncated_timestamps=True),
    "pyarrow-lz4": lambda: pyarrow(compression="lz4"),
    "pyarrow-no-zone": without_zone,
    "pyarrow-brotli": lambda: pyarrow(compression="brotli"),
    "shuffled": shuffled,
    "polars": polars,
    "duckdb": duckdb,
}[sys.argv[1]]

for source in sys.argv[2:]:
    target = source + ".new"
    table = pq.read_table(source)
    writer()
    os.replace(target, source)
