package kafkatest

import (
	"fmt"
	"net"
	"strings"
)

// SASLUser and SASLPassword are what the SASL listener of a real broker accepts, with mechanism PLAIN.
const (
	SASLUser     = "anna"
	SASLPassword = "right"
)

// properties is the configuration of a KRaft broker and controller in one process, listening on 127.0.0.1 only.
//
// ports are those of plain clients, clients with SASL, and the controller.
func properties(data string, ports []int, killable bool) string {
	lines := []string{
		"process.roles=broker,controller",
		"node.id=1",
		fmt.Sprintf("controller.quorum.voters=1@127.0.0.1:%d", ports[2]),
		fmt.Sprintf("listeners=PLAINTEXT://127.0.0.1:%d,SASL://127.0.0.1:%d,CONTROLLER://127.0.0.1:%d", ports[0], ports[1], ports[2]),
		fmt.Sprintf("advertised.listeners=PLAINTEXT://127.0.0.1:%d,SASL://127.0.0.1:%d", ports[0], ports[1]),
		"listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
		"listener.name.sasl.sasl.enabled.mechanisms=PLAIN",
		"listener.name.sasl.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required " +
			`user_` + SASLUser + `="` + SASLPassword + `";`,
		"controller.listener.names=CONTROLLER",
		"inter.broker.listener.name=PLAINTEXT",
		"log.dirs=" + data,
		"num.partitions=1",
		"default.replication.factor=1",
		"offsets.topic.replication.factor=1",
		"offsets.topic.num.partitions=2",
		"transaction.state.log.replication.factor=1",
		"transaction.state.log.min.isr=1",
		"transaction.state.log.num.partitions=2",
		"share.coordinator.state.topic.replication.factor=1",
		"share.coordinator.state.topic.min.isr=1",
		"group.initial.rebalance.delay.ms=0",
		"group.min.session.timeout.ms=500",
		"auto.create.topics.enable=false",
		"delete.topic.enable=true",
	}
	if killable {
		lines = append(lines,
			// A killed broker registers again only when its former session has ended.
			"broker.session.timeout.ms=2000",
			"broker.heartbeat.interval.ms=500",
			// A DeleteRecords start offset survives a kill only once it is checkpointed.
			"log.flush.start.offset.checkpoint.interval.ms=1000",
			"log.initial.task.delay.ms=500",
		)
	}
	return strings.Join(lines, "\n") + "\n"
}

// freePorts returns n distinct TCP ports that were free on 127.0.0.1 a moment ago.
func freePorts(n int) ([]int, error) {
	ports := make([]int, n)
	for i := range ports {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		defer func() { _ = listener.Close() }() //nolint:gocritic // held until all are chosen, so that they differ
		ports[i] = listener.Addr().(*net.TCPAddr).Port
	}
	return ports, nil
}
