package decode

import "bytes"

// linearNames is how many names are compared one by one before a set is built.
const linearNames = 8

// names is the set of member names of one object that are none of ours.
type names struct {
	few  [][]byte
	many map[string]struct{}
}

// add puts a name in and reports whether it was there.
func (n *names) add(name []byte) bool {
	if n.many != nil {
		before := len(n.many)
		n.many[string(name)] = struct{}{}
		return len(n.many) == before
	}
	for _, seen := range n.few {
		if bytes.Equal(seen, name) {
			return true
		}
	}
	n.few = append(n.few, name)
	if len(n.few) > linearNames {
		n.many = make(map[string]struct{}, 2*len(n.few))
		for _, seen := range n.few {
			n.many[string(seen)] = struct{}{}
		}
	}
	return false
}
