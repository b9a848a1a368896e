package embedded_test

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/kafka"
	"amends.dev/amends/stages/kafka/embedded"
)

// holdEnv tells the test binary to hold a folder instead of testing.
const holdEnv = "AMENDS_TEST_HOLD_FOLDER"

func TestMain(m *testing.M) {
	if folder := os.Getenv(holdEnv); folder != "" {
		b, err := embedded.Start(folder, 0)
		if err != nil {
			panic(err)
		}
		_, _ = os.Stdout.WriteString(b.Addresses()[0] + "\n")
		time.Sleep(time.Minute)
		return
	}
	os.Exit(m.Run())
}

func start(t *testing.T, folder string, port int) *embedded.Broker {
	t.Helper()
	b, err := embedded.Start(folder, port)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Stop)
	return b
}

// hold starts another process that holds the folder and returns its broker's address.
func hold(t *testing.T, folder string) (*exec.Cmd, string) {
	t.Helper()
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), holdEnv+"="+folder)
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = command.Process.Kill(); _ = command.Wait() })
	line := make([]byte, 64)
	n, err := out.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	return command, strings.TrimSpace(string(line[:n]))
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// publish creates a topic where it is missing, publishes values and returns the topic's description.
func publish(t *testing.T, address string, values ...string) *broker.TopicInfo {
	t.Helper()
	config := kafka.Config{Brokers: []string{address}}
	admin, err := kafka.NewAdmin(config)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	info, err := admin.Describe(within(t), "t")
	if err == nil && info == nil {
		info, err = admin.Create(within(t), "t", 1)
	}
	if err != nil {
		t.Fatal(err)
	}
	p, err := kafka.NewPublisher(within(t), config, kafka.Topic{Name: "t", ID: info.ID, Partitions: 1}, 30*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	var messages []broker.Message
	for _, value := range values {
		messages = append(messages, broker.Message{Value: []byte(value)})
	}
	for _, ack := range p.Publish(within(t), messages) {
		if ack.Err != nil {
			t.Fatal(ack.Err)
		}
	}
	info, err = admin.Describe(within(t), "t")
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func TestFolderIsLocked(t *testing.T) {
	folder := t.TempDir()
	b := start(t, folder, 0)
	if _, err := embedded.Start(folder, 0); !errors.Is(err, embedded.ErrHeld) {
		t.Fatalf("second broker of one process: %v, want ErrHeld", err)
	}
	b.Stop()
	b.Stop()
	other, _ := hold(t, folder)
	if _, err := embedded.Start(folder, 0); !errors.Is(err, embedded.ErrHeld) || !strings.Contains(err.Error(), folder) {
		t.Fatalf("second process: %v, want ErrHeld naming %s", err, folder)
	}
	_ = other.Process.Kill()
	_ = other.Wait()
	start(t, folder, 0)
}

func TestDataSurvivesStopAndKill(t *testing.T) {
	folder := t.TempDir()
	b := start(t, folder, 0)
	first := publish(t, b.Addresses()[0], "a", "b")
	b.Stop()
	other, address := hold(t, folder)
	publish(t, address, "c")
	_ = other.Process.Kill()
	_ = other.Wait()
	last := publish(t, start(t, folder, 0).Addresses()[0], "d")
	if last.ID != first.ID || last.Ends[0] != 4 || last.Configs["retention.ms"] != "-1" {
		t.Fatalf("topic after stop and kill = %+v, before %+v", last, first)
	}
}

func TestPorts(t *testing.T) {
	folder := t.TempDir()
	b := start(t, folder, 0)
	address := b.Addresses()[0]
	taken, err := net.ResolveTCPAddr("tcp", address)
	if err != nil || !strings.HasPrefix(address, "127.0.0.1:") {
		t.Fatalf("address %s: %v", address, err)
	}
	if _, err := embedded.Start(t.TempDir(), taken.Port); !errors.Is(err, syscall.EADDRINUSE) {
		t.Fatalf("port in use: %v, want EADDRINUSE", err)
	}
	b.Stop()
	if stopped := b.Addresses()[0]; stopped != address { // it must not ask a cluster that is gone
		t.Fatalf("address after Stop: %s, want %s", stopped, address)
	}
	if again := start(t, folder, taken.Port).Addresses()[0]; again != address {
		t.Fatalf("fixed port: %s, want %s", again, address)
	}
}
