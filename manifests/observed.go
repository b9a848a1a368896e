package manifests

// StateSchema is the Postgres schema of the namespace's processing state. Names are DNS labels, without underscores,
// so that no state schema can equal another namespace's view schema.
func (n *Namespace) StateSchema() string { return "amends_" + n.Name }

// ViewSchema is the Postgres schema of the namespace's view.
func (n *Namespace) ViewSchema() string { return "amends_" + n.Name + "_view" }

// Observed is what exists where a manifest is to be applied, as apply's adapters found it. It is only read.
type Observed struct {
	// Applied is the recorded namespace of this name, nil where there is none.
	Applied *Applied
	// Source and Output are the topics that the manifest names, nil where they do not exist.
	Source, Output *Topic
	// StateSchema says that the schema StateSchema() exists.
	StateSchema bool
	// View is what the schema ViewSchema() says of itself, nil where the schema does not exist.
	View *View
	// Others are the other recorded namespaces of the same database.
	Others []Claim
}

// Applied is a namespace as it was recorded by an earlier apply.
type Applied struct {
	// Namespace is rebuilt by FromSpec.
	Namespace *Namespace
	// NamespaceDigest is the digest recorded beside it.
	NamespaceDigest string
	// SourceTopicID and OutputTopicID are the topics' identities at that time.
	SourceTopicID, OutputTopicID string
}

// Topic is what the broker says of one topic.
type Topic struct {
	// ID is the topic ID in Kafka's textual form.
	ID string
	// Partitions is the partition count.
	Partitions int32
	// Configs holds at least cleanup.policy, retention.ms and retention.bytes.
	Configs map[string]string
	// Starts and Ends are the log start offset and the high watermark of each partition.
	Starts, Ends []int64
}

// View is what an existing view schema says of itself.
type View struct {
	// Namespace and NamespaceDigest are whose view it is; empty where the schema is not a view.
	Namespace, NamespaceDigest string
	// OutputTopicID is the topic it materialises.
	OutputTopicID string
}

// Claim is what another namespace uses (R04).
type Claim struct {
	// Namespace is its name; a claim of the planned namespace itself is ignored.
	Namespace string
	// SourceTopic may be shared between namespaces; OutputTopic, StateSchema and ViewSchema may not.
	SourceTopic, OutputTopic, StateSchema, ViewSchema string
}
