// Package status is `amendsctl status`: how far every stage of an applied namespace has come, who owns what, and why
// something stands still (design section 6).
//
// It reads what is durable and asks the broker; it needs no running stage. The backoff of a stage that is up and cannot
// reach something is known to its own process only, which logs it and shows it in its metrics.
package status
