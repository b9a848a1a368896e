// Package e2e holds the end-to-end tests of the main path: source topic → worker → relay → view → verify, composed as
// in production by internal/pipeline, with nothing mocked between the parts. Every test runs on kfake and on a real
// Apache Kafka broker, over a real Postgres.
//
// What they compare: the verdict of an independent verification; every committed envelope, byte for byte and version
// for version, with what the pure core decides over the same records; the output topic and the view with these
// envelopes. A fault may cost repeated messages, which must be identical, and nothing else.
//
// Faults happen to processes: the test binary starts itself as a child that runs the stages and ends itself with SIGKILL
// at a named point (TestMain). A child ends by itself when the test process is gone.
package e2e
