-- The view of one namespace, schema "amends_<name>_view" (S7, R13, R18). It may live in another database.
CREATE TABLE namespace (
    singleton           boolean PRIMARY KEY DEFAULT true CHECK (singleton),
    name                text NOT NULL,
    namespace_digest    text NOT NULL,
    output_topic        text NOT NULL,
    output_topic_id     text NOT NULL
);

CREATE TABLE stock_key (
    key_id              integer PRIMARY KEY,          -- index in the sorted stock keys
    item                text COLLATE "C" NOT NULL,
    location            text COLLATE "C" NOT NULL,
    UNIQUE (item, location)
);

-- Guard and row in one: version and content survive withdrawal (present = false) for ever.
CREATE TABLE balance (
    key_id              integer NOT NULL,
    day                 date NOT NULL,
    close               bigint NOT NULL,
    version             bigint NOT NULL CHECK (version >= 1),
    present             boolean NOT NULL,
    content             bytea NOT NULL,               -- SHA-256 of the envelope last applied
    PRIMARY KEY (key_id, day)
) WITH (fillfactor = 80);

CREATE TABLE alert (
    key_id              integer NOT NULL,
    day                 date NOT NULL,
    threshold           bigint NOT NULL,
    close               bigint NOT NULL,
    version             bigint NOT NULL CHECK (version >= 1),
    present             boolean NOT NULL,
    content             bytea NOT NULL,
    PRIMARY KEY (key_id, day)
) WITH (fillfactor = 80);

CREATE TABLE key_status (
    key_id              integer PRIMARY KEY,
    status              text NOT NULL CHECK (status IN ('READY', 'BLOCKED')),
    conflict_txns       text[] COLLATE "C" NOT NULL,
    conflict_revisions  bigint[] NOT NULL,
    version             bigint NOT NULL CHECK (version >= 1),
    content             bytea NOT NULL
) WITH (fillfactor = 90);

CREATE TABLE view_progress (
    partition           integer PRIMARY KEY,
    next_offset         bigint NOT NULL DEFAULT 0,
    applied             bigint NOT NULL DEFAULT 0,
    ignored             bigint NOT NULL DEFAULT 0,    -- duplicates and lower versions
    -- Set with the partition's protocol_violation; here because this row is what a unit of work locks (R18).
    stopped             boolean NOT NULL DEFAULT false,
    updated_at          timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);

-- A protocol violation, or a bug, stops its output partition (S7, SC17, R36). One row per stopped partition.
CREATE TABLE protocol_violation (
    partition           integer PRIMARY KEY,
    output_offset       bigint NOT NULL,
    reason              text NOT NULL,
    output_id           text,
    version             bigint,
    stored_content      bytea,
    incoming_key        bytea,
    incoming_value      bytea,
    detail              text NOT NULL,
    at                  timestamptz NOT NULL DEFAULT now()
);

-- What users read (R13). certified is false while the key is BLOCKED; it says nothing about drain.
CREATE VIEW balances AS
SELECT k.item, k.location, b.day, b.close, coalesce(s.status, 'READY') AS key_status,
       coalesce(s.status, 'READY') = 'READY' AS certified
FROM balance b JOIN stock_key k USING (key_id) LEFT JOIN key_status s USING (key_id)
WHERE b.present;

CREATE VIEW alerts AS
SELECT k.item, k.location, a.day, a.close, a.threshold, coalesce(s.status, 'READY') AS key_status,
       coalesce(s.status, 'READY') = 'READY' AS certified
FROM alert a JOIN stock_key k USING (key_id) LEFT JOIN key_status s USING (key_id)
WHERE a.present;

CREATE VIEW balances_certified AS SELECT item, location, day, close FROM balances WHERE certified;
CREATE VIEW alerts_certified AS SELECT item, location, day, close, threshold FROM alerts WHERE certified;
