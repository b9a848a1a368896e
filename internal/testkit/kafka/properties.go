package kafkatest

import (
	"fmt"
	"net"
	"strings"
)

// properties is the configuration of a KRaft broker and controller in one process, listening on 127.0.0.1 only.
func properties(data string, port, controllerPort int, killable bool) string {
	lines := []string{
		"process.roles=broker,controller",
		"node.id=1",
		fmt.Sprintf("controller.quorum.voters=1@127.0.0.1:%d", controllerPort),
		fmt.Sprintf("listeners=PLAINTEXT://127.0.0.1:%d,CONTROLLER://127.0.0.1:%d", port, controllerPort),
		fmt.Sprintf("advertised.listeners=PLAINTEXT://127.0.0.1:%d", port),
		"listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
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
		defer func() { _ = listener.Close() }()
		ports[i] = listener.Addr().(*net.TCPAddr).Port
	}
	return ports, nil
}
