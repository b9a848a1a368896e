-- The durable owners of one namespace, in its state schema, or in a schema of their own (issue 5, R27-R29). Everything
-- that an owner holds carries owner_no, a number that never leaves the database: identities are long. Positions and
-- ordinals are below 2^63; fences and versions take all 64 bits without a sign, which is what the domain is for.
CREATE DOMAIN uint64 AS numeric(20, 0) CHECK (VALUE >= 0 AND VALUE <= 18446744073709551615);

-- Numbers for owner_no and seq, drawn a thousand at a time: a value stands for itself and the 999 below it. A number says nothing about the order of commits of different owners: what is pending is
-- found by what is in owner_pending, never by a seq above another (B052). Of one owner, seq is in the order of commits,
-- because it is drawn under the lock of the owner's row.
CREATE SEQUENCE owner_seq INCREMENT BY 1000 START WITH 1000;

CREATE TABLE owner (
    owner_no            bigint PRIMARY KEY,
    owner_id            text COLLATE "C" NOT NULL CONSTRAINT owner_id_unique UNIQUE,
    mode                text NOT NULL CHECK (mode IN ('event_history', 'snapshot')),
    position            bigint NOT NULL CHECK (position >= 0),
    fence               uint64 NOT NULL,
    -- The versions accepted; null for all positive ones.
    schema_versions     numeric(20, 0)[],
    codec_versions      numeric(20, 0)[],
    created_at          timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50); -- position and fence change in place, of most owners once each

-- Every event of an owner of mode event_history, for ever.
CREATE TABLE owner_event (
    owner_no            bigint NOT NULL,
    position            bigint NOT NULL CHECK (position >= 1),
    schema_version      uint64 NOT NULL,
    codec_version       uint64 NOT NULL,
    bytes               bytea NOT NULL,
    PRIMARY KEY (owner_no, position)
);

-- The present state of an owner of mode snapshot.
CREATE TABLE owner_snapshot (
    owner_no            bigint PRIMARY KEY,
    position            bigint NOT NULL CHECK (position >= 1),
    schema_version      uint64 NOT NULL,
    codec_version       uint64 NOT NULL,
    bytes               bytea NOT NULL
) WITH (fillfactor = 70);

-- Completed inputs. The digest covers all that was committed under the identity, versions included (R27).
CREATE TABLE owner_inbox (
    owner_no            bigint NOT NULL,
    inbox_id            text COLLATE "C" NOT NULL,
    fingerprint         bytea NOT NULL,
    digest              bytea NOT NULL,
    committed_through   bigint NOT NULL,
    seq                 bigint NOT NULL,
    committed_at        timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (owner_no, inbox_id)
);

CREATE TABLE owner_effect (
    owner_no            bigint NOT NULL,
    effect_id           text COLLATE "C" NOT NULL,
    accepted_at         bigint NOT NULL,
    schema_version      uint64 NOT NULL,
    codec_version       uint64 NOT NULL,
    bytes               bytea NOT NULL,
    seq                 bigint NOT NULL,
    PRIMARY KEY (owner_no, effect_id)
);

-- The effects without a receipt, one narrow row each, gone with the receipt: what is pending costs nothing to find,
-- however many effects are done with. kind is the part of the effect's identity before the first slash, lane the part
-- before the third: effects of one kind that wait, as those of one partition do, are not visited by who looks for others.
CREATE TABLE owner_pending (
    kind                text COLLATE "C" NOT NULL GENERATED ALWAYS AS (split_part(effect_id, '/', 1)) STORED,
    lane                text COLLATE "C" NOT NULL GENERATED ALWAYS AS (split_part(effect_id, '/', 1) || '/'
                            || split_part(effect_id, '/', 2) || '/' || split_part(effect_id, '/', 3)) STORED,
    seq                 bigint NOT NULL,
    owner_no            bigint NOT NULL,
    effect_id           text COLLATE "C" NOT NULL,
    PRIMARY KEY (kind, seq)
);

CREATE INDEX owner_pending_lane ON owner_pending (lane, seq);

CREATE TABLE owner_receipt (
    owner_no            bigint NOT NULL,
    receipt_id          text COLLATE "C" NOT NULL,
    effect_id           text COLLATE "C" NOT NULL,
    outcome             text NOT NULL,
    schema_version      uint64 NOT NULL,
    codec_version       uint64 NOT NULL,
    bytes               bytea NOT NULL,
    recorded_at         bigint NOT NULL,
    fence               uint64 NOT NULL,
    seq                 bigint NOT NULL,
    PRIMARY KEY (owner_no, receipt_id),
    UNIQUE (owner_no, effect_id)
);

-- The egress of latest states: one value for each owner, replaced in place (R28). pending_seq is null once it was
-- published, and stays what it was while a pending value is replaced.
CREATE TABLE owner_latest (
    owner_no            bigint PRIMARY KEY,
    bytes               bytea NOT NULL,
    pending_seq         bigint
) WITH (fillfactor = 70);

CREATE INDEX owner_latest_pending ON owner_latest (pending_seq) WHERE pending_seq IS NOT NULL;
