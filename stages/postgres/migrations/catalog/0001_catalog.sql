-- Catalog of all namespaces of one database, schema "amends". One row per applied namespace (S2, R01-R04).
CREATE TABLE namespace (
    name                text PRIMARY KEY,
    semantics_version   integer NOT NULL,
    -- The resolved spec without stock keys as JSON; keys are in the namespace's stock_key table.
    spec                jsonb NOT NULL,
    namespace_digest    text NOT NULL,
    business_digest     text NOT NULL,
    source_topic        text NOT NULL,
    source_topic_id     text NOT NULL,
    output_topic        text NOT NULL UNIQUE,
    output_topic_id     text NOT NULL,
    state_schema        text NOT NULL UNIQUE,
    view_schema         text NOT NULL UNIQUE,
    -- What built the state: 'stream' or an engine's name with decoder and version (R26).
    built_by            text NOT NULL DEFAULT 'stream',
    -- What is not finished yet, empty where the namespace may be used: a rebuild that was begun (S11).
    unfinished          text NOT NULL DEFAULT '',
    -- The namespace whose history this one computes under another business configuration, empty where there is none (R02).
    experiment_of       text NOT NULL DEFAULT '',
    applied_at          timestamptz NOT NULL DEFAULT now()
);

-- One writer at a time per source topic (R22). stop_requested asks the holder to stop and release.
CREATE TABLE writer_lease (
    source_topic_id     text PRIMARY KEY,
    holder              text NOT NULL,
    term                bigint NOT NULL,
    expires_at          timestamptz NOT NULL,
    stop_requested      boolean NOT NULL DEFAULT false,
    released            boolean NOT NULL DEFAULT false
);

-- Reports of verifications, kept when they were printed (S10). They outlive their namespace.
CREATE SEQUENCE verification_number;
CREATE TABLE verification (
    number              bigint PRIMARY KEY DEFAULT nextval('verification_number'),
    namespace           text NOT NULL,
    status              text NOT NULL,
    exit_code           integer NOT NULL,
    -- Two counts of the report, for lists; null where nothing was compared.
    records             bigint,
    differences         bigint,
    verified_at         timestamptz NOT NULL DEFAULT now(),
    -- The JSON document as it was printed: json keeps the bytes, and names that jsonb refuses.
    report              json NOT NULL
);
CREATE INDEX verification_namespace ON verification (namespace, number);
