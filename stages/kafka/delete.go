package kafka

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
)

// DeleteTopic deletes a topic, and does nothing where it is gone. A topic of that name with another ID is somebody else's
// and stays: the error wraps broker.ErrTopicChanged.
func (a *Admin) DeleteTopic(ctx context.Context, topic Topic) error {
	found, err := lookUp(ctx, a.client, topic.Name)
	switch {
	case err != nil:
		return err
	case found == nil:
		return nil
	}
	if err := topic.checkID(found.id); err != nil {
		return err
	}
	if _, err = a.admin.DeleteTopic(ctx, topic.Name); err != nil && !errors.Is(err, kerr.UnknownTopicOrPartition) {
		return fmt.Errorf("delete topic %s: %w", topic.Name, err)
	}
	return nil
}

// GroupMembers returns the members of a consumer group, of which there are none where it does not exist. A member that died
// counts until its session ends.
func (a *Admin) GroupMembers(ctx context.Context, group string) ([]string, error) {
	described, err := a.admin.DescribeGroups(ctx, group)
	if err != nil {
		return nil, fmt.Errorf("describe group %s: %w", group, err)
	}
	found := described[group]
	if found.Err != nil && !errors.Is(found.Err, kerr.GroupIDNotFound) {
		return nil, fmt.Errorf("describe group %s: %w", group, found.Err)
	}
	var members []string
	for _, member := range found.Members {
		members = append(members, member.MemberID)
	}
	return members, nil
}
