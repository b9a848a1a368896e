-- Processing state of one namespace, schema "amends_<name>" (S8, design section 5).
CREATE TABLE stock_key (
    key_id              integer PRIMARY KEY,          -- index in the sorted stock keys
    item                text COLLATE "C" NOT NULL,
    location            text COLLATE "C" NOT NULL,
    opening_balance     bigint NOT NULL,
    reorder_threshold   bigint NOT NULL
);

CREATE TABLE partition_state (
    partition           integer PRIMARY KEY,
    epoch               bigint NOT NULL DEFAULT 0 CHECK (epoch >= 0),
    member              text NOT NULL DEFAULT '',
    generation          integer NOT NULL DEFAULT -1,
    next_offset         bigint NOT NULL DEFAULT 0 CHECK (next_offset >= 0),
    -- Next outbox sequence of this source partition, assigned under this row's lock (B052).
    outbox_next         bigint NOT NULL DEFAULT 1 CHECK (outbox_next >= 1),
    accepted            bigint NOT NULL DEFAULT 0,
    rejected            bigint NOT NULL DEFAULT 0,
    stop_reason         text,
    stop_offset         bigint,
    stop_detail         text,
    stopped_at          timestamptz,
    updated_at          timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);

CREATE TABLE key_state (
    key_id              integer PRIMARY KEY,
    status_version      bigint NOT NULL CHECK (status_version >= 1),
    -- The reason set, two parallel arrays sorted by txn_id bytes, revision; empty means READY (R10).
    conflict_txns       text[] COLLATE "C" NOT NULL,
    conflict_revisions  bigint[] NOT NULL
) WITH (fillfactor = 90);

CREATE TABLE authority (
    key_id              integer NOT NULL,
    txn_id              text COLLATE "C" NOT NULL,
    revision            bigint NOT NULL CHECK (revision >= 1),
    kind                smallint NOT NULL,            -- 1 NEW, 2 AMEND, 3 CANCEL
    valid_time          bigint NOT NULL,              -- nanoseconds since the Unix epoch
    qty                 bigint NOT NULL,
    ambiguous           boolean NOT NULL,
    source_offset       bigint NOT NULL,
    PRIMARY KEY (key_id, txn_id)
) WITH (fillfactor = 90);

-- Distinct payloads not held by authority: superseded revisions and further payloads of a conflict (R20).
CREATE TABLE evidence (
    key_id              integer NOT NULL,
    txn_id              text COLLATE "C" NOT NULL,
    revision            bigint NOT NULL,
    kind                smallint NOT NULL,
    valid_time          bigint NOT NULL,
    qty                 bigint NOT NULL,
    source_offset       bigint NOT NULL,
    PRIMARY KEY (key_id, txn_id, revision, kind, valid_time, qty)
);

CREATE TABLE conflict (
    key_id              integer NOT NULL,
    txn_id              text COLLATE "C" NOT NULL,
    revision            bigint NOT NULL,
    detected_offset     bigint NOT NULL,
    PRIMARY KEY (key_id, txn_id, revision)
);

CREATE TABLE day_state (
    key_id              integer NOT NULL,
    day                 integer NOT NULL,             -- days since the Unix epoch
    active              bigint NOT NULL CHECK (active >= 0),
    close               bigint NOT NULL,
    balance_version     bigint NOT NULL CHECK (balance_version >= 0),
    alert_version       bigint NOT NULL CHECK (alert_version >= 0),
    alert_present       boolean NOT NULL,
    alert_close         bigint NOT NULL,
    PRIMARY KEY (key_id, day)
) WITH (fillfactor = 70);

CREATE TABLE quarantine (
    partition           integer NOT NULL,
    source_offset       bigint NOT NULL,
    topic_id            text NOT NULL,
    reason              text NOT NULL,
    key                 bytea,
    value               bytea,
    key_length          bigint NOT NULL,              -- -1 for null
    value_length        bigint NOT NULL,
    key_sha256          bytea,
    value_sha256        bytea,
    PRIMARY KEY (partition, source_offset)
);

-- One row holds a run of envelopes first_seq .. first_seq+count-1, framed; see stages/postgres/frame.go (R19).
CREATE TABLE outbox (
    partition           integer NOT NULL,
    first_seq           bigint NOT NULL,
    count               integer NOT NULL CHECK (count >= 1),
    frames              bytea NOT NULL,
    created_at          timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (partition, first_seq)
);

CREATE TABLE relay_state (
    partition           integer PRIMARY KEY,
    -- Exclusive: every sequence below it was acknowledged (R19).
    sent_through        bigint NOT NULL DEFAULT 1 CHECK (sent_through >= 1),
    -- Set where the outbox itself is damaged at sent_through: a bug, which never resumes by itself (R36).
    stop_reason         text,
    stop_detail         text,
    stopped_at          timestamptz
) WITH (fillfactor = 50);

-- One relay per namespace (S9). A term ends at expires_at by the database's clock (R17).
CREATE TABLE relay_lease (
    singleton           boolean PRIMARY KEY DEFAULT true CHECK (singleton),
    holder              text NOT NULL,
    term                bigint NOT NULL,
    expires_at          timestamptz NOT NULL
);

-- What a person asked a running stage to try now (R36): each count above the one a process has seen is a request.
CREATE TABLE resume_request (
    stage               text NOT NULL,
    partition           integer NOT NULL,
    requests            bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (stage, partition)
);

-- Why a partition does not move, as the process that runs its stage last said (S9, R36). No stage reads it: it is for
-- people. It says nothing about data: stops for good are in the rows of their stages. What was not said again for a while is
-- of a process that is gone.
CREATE TABLE stall (
    stage               text NOT NULL,
    partition           integer NOT NULL,
    process             text NOT NULL,
    reason              text NOT NULL,
    since               timestamptz NOT NULL,
    attempts            integer NOT NULL,             -- failures in a row
    next_try            timestamptz,                  -- null where it does not try by itself
    -- Where the stage stood when the stall began: whoever is past it goes on.
    frontier            bigint NOT NULL,
    reported_at         timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (stage, partition, process)
) WITH (fillfactor = 50);

-- Broker receipts of a run of envelopes: per envelope output partition and offset, packed (R19).
CREATE TABLE receipt (
    partition           integer NOT NULL,
    first_seq           bigint NOT NULL,
    count               integer NOT NULL CHECK (count >= 1),
    acks                bytea NOT NULL,
    PRIMARY KEY (partition, first_seq)
);

-- The envelopes of one row are much alike. Postgres's default compression costs as much as all other writes of a unit of
-- work together; lz4 costs little. A server built without it stores the bytes as they are.
DO $$
BEGIN
    EXECUTE 'ALTER TABLE outbox ALTER COLUMN frames SET COMPRESSION lz4';
EXCEPTION WHEN feature_not_supported OR syntax_error THEN
    ALTER TABLE outbox ALTER COLUMN frames SET STORAGE EXTERNAL;
END $$;
