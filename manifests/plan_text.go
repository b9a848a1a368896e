package manifests

import (
	"fmt"
	"strings"
)

// symbols mark the lines of a plan: + is created, ~ is made again, = is as it must be, ! is refused.
var symbols = map[Change]string{Create: "+", Repair: "~", Unchanged: "="}

// Text renders the plan for people, a line an item, with its counts last.
func (p Plan) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "namespace %s, digest %s\n", p.Namespace, p.Digest)
	for _, item := range p.Items {
		fmt.Fprintf(&b, "  %s %s %s", symbols[item.Change], item.Kind, item.Name)
		if item.Detail != "" {
			b.WriteString(": " + item.Detail)
		}
		b.WriteString("\n")
	}
	for _, r := range p.Refusals {
		fmt.Fprintf(&b, "  ! %s: %s → %s\n      %s\n      remedy: %s\n", r.Field, r.Old, r.New, r.Reason, r.Remedy)
	}
	if more := p.Refused - len(p.Refusals); more > 0 {
		fmt.Fprintf(&b, "  ! %d more not shown\n", more)
	}
	fmt.Fprintf(&b, "plan: %d to create, %d unchanged, %d refused\n", p.ToCreate, p.Unchanged, p.Refused)
	if p.Refused > 0 {
		b.WriteString("refused: nothing is touched\n")
	}
	return b.String()
}
