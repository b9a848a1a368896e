// Package connect holds what every verb of amendsctl that talks to servers shares: the flags and environment variables
// that say where database and brokers are, their opening with one clear line where that fails, and the choice of an
// applied namespace. Connections are never in a manifest (design section 4). No text of this package shows a password.
package connect
