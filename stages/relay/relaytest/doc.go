// Package relaytest is the relay's test kit: an in-memory Outbox, a publisher whose acknowledgements can be scripted,
// and Suite, the scenarios that every Outbox must pass.
package relaytest
