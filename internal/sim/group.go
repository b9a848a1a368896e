package sim

import "amends.dev/amends/stages/broker"

// rebalance is the coordinator's: a new generation, in which the partitions go to the members in the bit set, in turn.
// Every member's callback is queued: it may run at once, late, or after others.
func (w *world) rebalance(set int) {
	w.generation++
	var members []*workerProcess
	for i, p := range w.workers {
		if set>>i&1 == 1 && !p.dead {
			members = append(members, p)
		}
	}
	shares := make(map[*workerProcess][]int32)
	if len(members) > 0 {
		for partition := range w.namespace.Spec.Source.Partitions {
			p := members[(int(partition)+int(w.generation))%len(members)]
			shares[p] = append(shares[p], partition)
		}
	}
	w.log("group", "generation %d", w.generation)
	for _, p := range w.workers {
		p.queued = append(p.queued, broker.Assignment{Member: p.name, Generation: w.generation, Partitions: shares[p]})
	}
}

// deliver runs a callback of a member.
func (w *world) deliver(p *workerProcess, a action) {
	if p.dead {
		return
	}
	var next broker.Assignment
	switch {
	case a.kind == deliver && len(p.queued) > 0:
		next = p.queued[0]
		p.queued = p.queued[1:]
		p.delivered = append(p.delivered, next)
	case a.kind == deliverOld && len(p.delivered) > 0:
		next = p.delivered[a.arg%len(p.delivered)]
	case a.kind == deliverEmpty:
		next = broker.Assignment{Member: p.name, Generation: w.generation}
	default:
		return
	}
	w.log(p.name, "%s: generation %d, partitions %v", kindNames[a.kind], next.Generation, next.Partitions)
	p.member.Assign(next.Member, next.Generation, next.Partitions...)
}

// settleGroup gives the partitions to all workers and runs every callback.
func (w *world) settleGroup() {
	w.rebalance(1<<len(w.workers) - 1)
	for i, p := range w.workers {
		for len(p.queued) > 0 {
			w.deliver(p, action{kind: deliver, actor: i})
		}
	}
}
