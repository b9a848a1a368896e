package intake

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// The bounds of identities, in bytes of UTF-8. Percent-encoded they still fit an owner's ID.
const (
	// RequestIDMax bounds a request's ID.
	RequestIDMax = 200
	// AuthorMax bounds an author's name.
	AuthorMax = 100
)

// LocalAuthor is everybody's name where there is no authentication (R32).
const LocalAuthor = "local"

// The kinds of identities in the owner store; each is the first part of an owner's or effect's ID.
const (
	ownerKind  = "intake"
	directKind = "intake-direct"
	// PublishKind is that of the effects that publish to the source topic.
	PublishKind = "intake-publish"
	// DeliverKind is that of the effects that deliver decisions.
	DeliverKind = "intake-deliver"
)

// identity joins parts, each percent-encoded, so that no two lists of parts give one identity and each part can stand in
// a URL path.
func identity(kind string, parts ...string) string {
	for _, part := range parts {
		kind += "/" + Escape(part)
	}
	return kind
}

// OwnerID is the identity of an accepted request in the owner store (R29).
func OwnerID(namespace, author, requestID string) string {
	return identity(ownerKind, namespace, author, requestID)
}

// requestPrefix begins the identities of all accepted requests of a namespace.
func requestPrefix(namespace string) string { return identity(ownerKind, namespace) + "/" }

// requestOf is the inverse of OwnerID; false where the owner is no accepted request of the namespace.
func requestOf(namespace, ownerID string) (author, requestID string, is bool) {
	rest, is := strings.CutPrefix(ownerID, requestPrefix(namespace))
	author, requestID, parted := strings.Cut(rest, "/")
	author, known := unescape(author)
	requestID, readable := unescape(requestID)
	return author, requestID, is && parted && known && readable
}

// PublishPrefix begins the identities of all effects of a namespace that publish to its source topic.
func PublishPrefix(namespace string) string { return identity(PublishKind, namespace) + "/" }

// PublishPrefixes are those of each source partition, by number.
func PublishPrefixes(namespace string, partitions int32) []string {
	prefixes := make([]string, partitions)
	for i := range prefixes {
		prefixes[i] = PublishPrefix(namespace) + decimal(int32(i)) + "/"
	}
	return prefixes
}

// publishID is the identity of the effect that publishes a request; published records carry it in a header (R34).
func publishID(namespace string, partition int32, author, requestID string) string {
	return identity(PublishKind, namespace, decimal(partition), author, requestID)
}

// deliverPrefix begins the identities of the effects that deliver decisions about one source partition.
func deliverPrefix(namespace string, partition int32) string {
	return identity(DeliverKind, namespace, decimal(partition)) + "/"
}

// Handle is where a request is found again by its author, which a sender can construct without an answer (R32).
func Handle(namespace, requestID string) string {
	return "/v1/namespaces/" + Escape(namespace) + "/requests/" + Escape(requestID)
}

// Escape percent-encodes every byte that is not unreserved in a URL.
func Escape(part string) string {
	const hex = "0123456789ABCDEF"
	if !strings.ContainsFunc(part, escaped) {
		return part
	}
	var b strings.Builder
	for i := range len(part) {
		c := part[i]
		if !escaped(rune(c)) {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(hex[c>>4])
		b.WriteByte(hex[c&15])
	}
	return b.String()
}

// escaped reports whether a character is not unreserved.
func escaped(c rune) bool {
	return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '.' && c != '_' && c != '~'
}

// unescape is the inverse of Escape; false where a percent sign begins no byte.
func unescape(part string) (string, bool) {
	var b strings.Builder
	for part != "" {
		plain, coded, found := strings.Cut(part, "%")
		b.WriteString(plain)
		if !found {
			break
		}
		if len(coded) < 2 {
			return "", false
		}
		c, err := strconv.ParseUint(coded[:2], 16, 8)
		if err != nil {
			return "", false
		}
		b.WriteByte(byte(c))
		part = coded[2:]
	}
	return b.String(), true
}

// ValidRequestID reports whether a text can be a request's ID: 1 to RequestIDMax bytes of UTF-8 without control
// characters, and not a path segment that clients resolve away ("." and "..").
func ValidRequestID(id string) bool {
	return id != "" && id != "." && id != ".." && len(id) <= RequestIDMax && plain(id)
}

// ValidAuthor reports whether a text can be an author's name: 1 to AuthorMax bytes of UTF-8 without control characters.
func ValidAuthor(name string) bool { return name != "" && len(name) <= AuthorMax && plain(name) }

// plain reports whether a text is UTF-8 without control characters.
func plain(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 })
}
