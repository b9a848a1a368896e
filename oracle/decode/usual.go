package decode

// usual reads a record in the one layout that most senders write: members in the order of the contract (S3), no white
// space, an ASCII transaction ID without escapes, the stock key as the broker key spells it. It accepts nothing that the
// scanner would not accept with the same values, and never rejects: at the first byte that it does not expect it gives up,
// and the scanner judges the record from its beginning.
func (d *Decoder) usual(key, value []byte) (Transaction, bool) {
	var tx Transaction
	c := cursor{src: value}
	if !c.literal(`{"txn_id":"`) || !c.txnID(&tx.TxnID) {
		return tx, false
	}
	index, known := d.index.find(d.routes, key)
	if !known {
		return tx, false
	}
	tx.Key = index
	return tx, c.literal(`","revision":`) && c.integer(&tx.Revision) && tx.Revision > 0 &&
		c.literal(`,"kind":"`) && c.kind(&tx.Kind) &&
		c.literal(`","stock_key":{"item":`) && c.stockKey(key, d.routes[index].itemEnd) &&
		c.literal(`},"valid_time":"`) && c.instant(&tx.ValidTime) &&
		c.literal(`","qty":`) && c.integer(&tx.Qty) && (tx.Kind != KindCancel || tx.Qty == 0) &&
		c.literal(`,"source_time":"`) && c.instant(&tx.SourceTime) &&
		c.literal(`"}`) && c.at == len(value)
}
