// Package intake accepts transactions from senders and says, without asking for trust, how durable each is (durability
// extension, R30–R35). A request that is to be kept becomes one owner of the durable owner store (R29): the event
// accepted, with "publish to the source topic" as its effect; the broker's acknowledgement is the effect's receipt. A
// request that is not to be kept goes straight to the source topic (R31).
//
// The intake writes to the source topic only while it holds the topic's writer lease, and gives the lease up, drained,
// when a verification asks for it (R22). Everything outside is a port; the HTTP server is stages/intake/server.
package intake
