// Package codecs holds the fuzz targets of what two sides must read or write alike: source records, which three decoders
// that share no code judge, and the names of stock keys and outputs, which the worker writes and the view and the judges
// read. All of it is in test files; neither Arrow nor the Kafka client is imported, because fuzzing would instrument them.
package codecs
