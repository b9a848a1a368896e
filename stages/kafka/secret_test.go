package kafka_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"amends.dev/amends/stages/kafka"
)

func TestSecretNeverShows(t *testing.T) {
	config := kafka.Config{SASL: &kafka.SASL{User: "anna", Password: kafka.NewSecret("hunter2")}}
	encoded, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("connect", "config", config, "password", config.SASL.Password)
	shown := []string{string(encoded), log.String()}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		shown = append(shown, fmt.Sprintf(verb, *config.SASL), fmt.Sprintf(verb, config.SASL.Password))
	}
	for _, text := range shown {
		if strings.Contains(text, "hunter2") || strings.Contains(text, fmt.Sprintf("%x", "hunter2")) {
			t.Errorf("the password shows in %s", text)
		}
		if !strings.Contains(text, "redacted") {
			t.Errorf("nothing says that something was left out of %s", text)
		}
	}
	inside := struct{ config kafka.Config }{config}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		if text := fmt.Sprintf(verb, inside); strings.Contains(text, "hunter2") || strings.Contains(text, fmt.Sprintf("%x", "hunter2")) {
			t.Errorf("in an unexported field the password shows in %s", text)
		}
	}
	if got := (kafka.Secret{}).Reveal(); got != "" {
		t.Errorf("zero value revealed %q", got)
	}
	if got := config.SASL.Password.Reveal(); got != "hunter2" {
		t.Errorf("revealed %q", got)
	}
}
