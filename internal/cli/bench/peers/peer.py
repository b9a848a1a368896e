"""One peer of the oracle: the same recomputation as a query, over the same files.

usage: peer.py ENGINE DATASET KEYS THREADS

DATASET is the glob of typed files, KEYS the CSV of stock keys. Prints one JSON object: the counts and sums that
`amendsctl oracle -o summary` prints. A payload is (kind, valid_time, qty); several payloads of one revision are a
conflict, which blocks its key where the revision is the highest; the highest revision counts unless it is a CANCEL; a
day's close is the opening balance plus all movements up to it; an alert is a close below the threshold after one that
was not.
"""

import json
import sys

ENGINE, FILES, KEYS, THREADS = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
DAY = 86_400_000_000_000
ZERO = 19_357  # 2022-12-31

FIELDS = (
    "records identities dups lower_conf high_conf blocked_keys status_keys balances sum_close sum_close_day alerts"
    " alert_close alert_day"
).split()


def emit(values):
    print(json.dumps(dict(zip(FIELDS, (int(v or 0) for v in values)))))


def revisions_of(read, epoch):
    """The distinct revisions with their payload, as SQL; engines differ in how they read files and times."""
    source = f"""
        select k.key, s.txn_id, s.revision, s.kind, {epoch} as instant, s.qty
        from {read} s join keys k on s.item = k.item and s.location = k.location
        where s.reject_reason is null"""
    revisions = f"""
        select key, txn_id, revision, count(*) as n, min(kind) as kind_, min(instant) as instant_, min(qty) as qty_,
               (min(kind) <> max(kind) or min(instant) <> max(instant) or min(qty) <> max(qty)) as conflict
        from ({source}) r group by key, txn_id, revision"""
    return revisions


def duckdb():
    import duckdb

    db = duckdb.connect(config={"threads": THREADS, "preserve_insertion_order": False})
    db.execute(f"create temp table keys as select row_number() over ()::int as key, * from read_csv('{KEYS}', header = true)")
    revisions = revisions_of(f"read_parquet('{FILES}')", "epoch_ns(s.valid_time)")
    db.execute(f"""
        create temp table authority as
        select key, arg_max({{'kind': kind_, 'instant': instant_, 'qty': qty_, 'conflict': conflict}}, revision) as top,
               sum(conflict::int) as conflicts, sum(n) as records, sum(if(conflict, 0, n - 1)) as dups
        from ({revisions}) v group by key, txn_id""")
    db.execute("create temp table status as select key, bool_or(top.conflict) as blocked from authority group by key")
    db.execute(f"""
        create temp table closes as
        select key, day, reorderThreshold as level, moved,
               openingBalance + sum(moved) over (partition by key order by day) as close
        from (select key, floor(top.instant / {DAY}.0)::int as day, sum(top.qty) as moved
              from authority join status using (key)
              where not blocked and top.kind <> 'CANCEL' group by all) d join keys using (key)""")
    counts = db.execute(
        "select sum(records), count(*), sum(dups), sum(conflicts) - sum(top.conflict::int), sum(top.conflict::int) from authority"
    ).fetchone()
    keys = db.execute("select count(*) filter (blocked), count(*) from status").fetchone()
    sums = db.execute(f"""
        select count(*), sum(close), sum(close * (day - {ZERO})), count(*) filter (alert), sum(close) filter (alert),
               sum(day - {ZERO}) filter (alert)
        from (select *, close - moved >= level and close < level as alert from closes) c""").fetchone()
    emit((*counts, *keys, *sums))


def datafusion():
    import datafusion

    context = datafusion.SessionContext(datafusion.SessionConfig().with_target_partitions(THREADS))
    context.register_parquet("source", FILES.rsplit("/", 1)[0] + "/", file_extension=".parquet")
    context.register_csv("given", KEYS)

    def keep(name, query):
        parts = [p for p in context.sql(query).collect_partitioned() if p]
        context.register_record_batches(name, parts)

    keep("keys", "select cast(row_number() over () as int) as key, item, location, \"openingBalance\" as opening, \"reorderThreshold\" as level from given")
    revisions = revisions_of("source", "cast(s.valid_time as bigint)")
    keep("authority", f"""
        select key, txn_id, last_value(kind_ order by revision) as kind, last_value(instant_ order by revision) as instant,
               last_value(qty_ order by revision) as qty, last_value(conflict order by revision) as conflict,
               sum(case when conflict then 1 else 0 end) as conflicts, sum(n) as records,
               sum(case when conflict then 0 else n - 1 end) as dups
        from ({revisions}) v group by key, txn_id""")
    keep("status", "select key, bool_or(conflict) as blocked from authority group by key")
    keep("closes", f"""
        select d.key, day, k.level, moved, k.opening + sum(moved) over (partition by d.key order by day) as close
        from (select a.key as key, cast(instant / {DAY} as int) as day, sum(qty) as moved
              from authority a join status s on a.key = s.key
              where not s.blocked and a.kind <> 'CANCEL' group by a.key, cast(instant / {DAY} as int)) d
        join keys k on d.key = k.key""")

    def row(query):
        return [column[0] for column in context.sql(query).to_arrow_table().to_pydict().values()]

    emit((
        *row("select sum(records), count(*), sum(dups), sum(conflicts) - sum(case when conflict then 1 else 0 end),"
             " sum(case when conflict then 1 else 0 end) from authority"),
        *row("select sum(case when blocked then 1 else 0 end), count(*) from status"),
        *row(f"""
            select count(*), sum(close), sum(close * (day - {ZERO})), sum(case when alert then 1 else 0 end),
                   sum(case when alert then close else 0 end), sum(case when alert then day - {ZERO} else 0 end)
            from (select *, close - moved >= level and close < level as alert from closes) c"""),
    ))


def polars():
    import os

    os.environ["POLARS_MAX_THREADS"] = str(THREADS)
    import polars as pl

    keys = pl.scan_csv(KEYS).with_row_index("key").with_columns(pl.col("key").cast(pl.Int32)).collect()
    source = (
        pl.scan_parquet(FILES)
        .filter(pl.col("reject_reason").is_null())
        .select("item", "location", "txn_id", "revision", "kind", "valid_time", "qty")
        .join(keys.lazy().select("item", "location", "key"), on=["item", "location"])
        .select(
            "key", "txn_id", "revision", "qty",
            pl.col("kind").cast(pl.String).replace_strict({"NEW": 0, "AMEND": 1, "CANCEL": 2}, return_dtype=pl.Int8),
            pl.col("valid_time").dt.timestamp("ns").alias("instant"),
        )
    )
    payload = ("kind", "instant", "qty")
    revisions = (
        source.group_by("key", "txn_id", "revision")
        .agg(pl.len().alias("n"), *[pl.col(c).min() for c in payload], *[pl.col(c).max().alias(c + "_max") for c in payload])
        .with_columns(conflict=pl.any_horizontal(*[pl.col(c) != pl.col(c + "_max") for c in payload]))
    )
    authority = (
        revisions.group_by("key", "txn_id")
        .agg(
            *[pl.col(c).max_by("revision") for c in payload],
            pl.col("conflict").max_by("revision").alias("top_conflict"),
            pl.col("conflict").sum().alias("conflicts"),
            pl.col("n").sum().alias("records"),
            pl.when("conflict").then(0).otherwise(pl.col("n") - 1).sum().alias("dups"),
        )
        .collect(engine="streaming")
    )
    status = authority.lazy().group_by("key").agg(pl.col("top_conflict").any().alias("blocked")).collect(engine="streaming")
    closes = (
        authority.lazy()
        .filter(pl.col("kind") != 2)
        .join(status.lazy().filter("blocked"), on="key", how="anti")
        .group_by("key", (pl.col("instant") // DAY).cast(pl.Int64).alias("day"))
        .agg(pl.col("qty").sum().alias("moved"))
        .sort("key", "day")
        .with_columns(total=pl.col("moved").cum_sum().over("key"))
        .join(keys.lazy(), on="key")
        .with_columns(close=pl.col("openingBalance") + pl.col("total"), day=pl.col("day") - ZERO)
        .with_columns(
            alert=(pl.col("close") - pl.col("moved") >= pl.col("reorderThreshold")) & (pl.col("close") < pl.col("reorderThreshold"))
        )
        .collect(engine="streaming")
    )
    top = authority["top_conflict"].sum()
    alerts = closes.filter("alert")
    emit((
        authority["records"].cast(pl.Int64).sum(), authority.height, authority["dups"].cast(pl.Int64).sum(),
        authority["conflicts"].cast(pl.Int64).sum() - top, top, status["blocked"].sum(), status.height, closes.height,
        closes["close"].sum(), (closes["close"] * closes["day"]).sum(), alerts.height, alerts["close"].sum(), alerts["day"].sum(),
    ))


def clickhouse():
    from chdb import session

    chdb = session.Session()

    def ask(query):
        return chdb.query(query, "TabSeparated")

    ask(f"set max_threads = {THREADS}")
    ask("create database if not exists bench engine = Atomic")
    ask("use bench")
    ask(f"create table keys engine = Memory as select toInt32(rowNumberInAllBlocks()) as key, * from file('{KEYS}', CSVWithNames)")
    columns = "item String, location String, txn_id String, revision Int64, kind String, valid_time DateTime64(9, \\'UTC\\'), qty Int64, reject_reason Nullable(String)"
    revisions = revisions_of(f"file('{FILES}', Parquet, '{columns}')", "toUnixTimestamp64Nano(s.valid_time)")
    ask(f"""
        create table authority engine = Memory as
        select key, argMax((kind_, instant_, qty_, conflict), revision) as top, sum(conflict) as conflicts, sum(n) as records,
               sum(if(conflict, 0, n - 1)) as dups
        from ({revisions}) v group by key, txn_id""")
    ask("create table status engine = Memory as select key, max(top.4) as blocked from authority group by key")
    ask(f"""
        create table closes engine = Memory as
        select key, day, reorderThreshold as level, moved,
               openingBalance + sum(moved) over (partition by key order by day) as close
        from (select key, toInt32(intDiv(top.2, {DAY})) as day, sum(top.3) as moved from authority
              where top.1 <> 'CANCEL' and key not in (select key from status where blocked) group by key, day) d
        join keys using (key)""")

    def row(query):
        return str(ask(query)).split()

    emit((
        *row("select sum(records), count(), sum(dups), sum(conflicts) - sum(top.4), sum(top.4) from authority"),
        *row("select countIf(blocked), count() from status"),
        *row(f"""
            select count(), sum(close), sum(close * (day - {ZERO})), countIf(alert), sumIf(close, alert), sumIf(day - {ZERO}, alert)
            from (select *, close - moved >= level and close < level as alert from closes) c"""),
    ))


{"duckdb": duckdb, "datafusion": datafusion, "polars": polars, "clickhouse": clickhouse}[ENGINE]()
