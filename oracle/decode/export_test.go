package decode

// Scanned judges a record by the scanner alone.
func (d *Decoder) Scanned(partition int32, key, value []byte) (Transaction, Reason) {
	if value == nil || int64(len(value)) > d.maxBytes {
		return d.Decode(partition, key, value)
	}
	return d.scanned(partition, key, value)
}

// Usual reports whether a record is in the usual layout.
func (d *Decoder) Usual(key, value []byte) bool {
	_, ok := d.usual(key, value)
	return ok
}

// UTC reads an instant by its places.
func UTC(text []byte) (v int64, length int, ok bool) { return utc(text) }

// Indexed finds a broker key in the index.
func (d *Decoder) Indexed(key []byte) (int32, bool) { return d.index.find(d.routes, key) }
