package root

import (
	"context"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"

	"amends.dev/amends/internal/exit"
)

// interrupts turns the first SIGINT or SIGTERM into the end of a context and remembers which one it was. A second
// signal finds the default action restored and ends the process at once, so that a stuck drain can be left.
type interrupts struct {
	received atomic.Int64
	stop     func()
}

// watchInterrupts starts watching. The returned context ends at the first signal; stop must be called in the end.
func watchInterrupts(parent context.Context) (context.Context, *interrupts) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	in := &interrupts{}
	done := make(chan struct{})
	in.stop = func() {
		signal.Stop(signals)
		cancel()
		<-done
	}
	go func() {
		defer close(done)
		select {
		case s := <-signals:
			signal.Stop(signals)
			if number, ok := s.(syscall.Signal); ok {
				in.received.Store(int64(number))
			}
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, in
}

// code is the exit code of the signal received, exit.OK where there was none.
func (in *interrupts) code() exit.Code {
	received := syscall.Signal(in.received.Load())
	if received == syscall.SIGINT {
		return exit.Interrupted
	}
	if received == syscall.SIGTERM {
		return exit.Terminated
	}
	return exit.OK
}
