// Package delete is `amendsctl delete namespace`: the end of a namespace, its state and its view.
package delete

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/cli/connect"
	"amends.dev/amends/internal/cli/get"
	"amends.dev/amends/internal/exit"
	"amends.dev/amends/internal/pipeline"
	"amends.dev/amends/stages/postgres"
)

// options are the flags of delete namespace.
type options struct {
	app        *app.App
	confirm    string
	withTopics bool
	asJSON     bool
}

// New returns the delete command.
func New(a *app.App) *cobra.Command {
	namespace := newNamespace(a)
	cmd := &cobra.Command{
		Use:     "delete KIND NAME",
		Short:   "Delete a namespace with its state and its view",
		Long:    "delete removes one thing for good.",
		Example: namespace.Example,
	}
	get.OfKinds(cmd)
	cmd.AddCommand(namespace)
	return cmd
}

func newNamespace(a *app.App) *cobra.Command {
	o := &options{app: a}
	cmd := &cobra.Command{
		Use:     "namespace NAME",
		Aliases: []string{"ns"},
		Short:   "Delete a namespace with its state and its view",
		Long: "namespace deletes the view, the processing state and the catalog row of a namespace: balances, alerts, evidence,\n" +
			"quarantine, outbox, and requests that an intake accepted and has not published yet. Kept reports stay. It refuses,\n" +
			"exit code 5, while anything works on the namespace: while a stage, an intake or a replay is connected, a lease runs\n" +
			"or the consumer group has members. The name has to be typed, on a terminal or as --confirm NAME.\n\n" +
			"Topics stay, unless --with-topics is given: then the output topic is deleted, and the source topic where no other\n" +
			"namespace reads it. Interrupted or killed, the namespace is refused by every other verb, and deleting again finishes.",
		Example: "  amendsctl delete namespace demo\n  amendsctl delete namespace demo --confirm demo --with-topics",
		Args:    cobra.ExactArgs(1),
	}
	connections := connect.Register(cmd)
	f := cmd.Flags()
	f.StringVar(&o.confirm, "confirm", "", "the namespace's name once more, instead of typing it")
	f.BoolVar(&o.withTopics, "with-topics", false, "delete the topics too")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		output, err := f.GetString("output")
		if err != nil {
			return err
		}
		o.asJSON = output == "json"
		if o.confirm != "" && o.confirm != args[0] {
			return exit.With(exit.Usage, fmt.Errorf("--confirm %s is not the name %s; nothing was deleted", o.confirm, args[0]))
		}
		c, err := connections.Resolve(a)
		if err != nil {
			return err
		}
		return o.run(cmd.Context(), c, args[0])
	}
	return cmd
}

// run connects to all servers, asks and deletes.
func (o *options) run(ctx context.Context, c connect.Connections, name string) error {
	if err := c.Check(); err != nil {
		return err
	}
	admin, err := c.Admin(ctx)
	if err != nil {
		return err
	}
	defer admin.Close()
	pool, err := c.Catalog(ctx)
	if err != nil {
		return err
	}
	defer pool.Close()
	views, err := c.Views(ctx)
	if err != nil {
		return err
	}
	defer views.Close()
	catalog := postgres.NewCatalog(pool)
	entry, err := catalog.Entry(ctx, name)
	if err != nil {
		return connect.Refuse(err)
	}
	if err := o.ask(ctx, entry); err != nil {
		return err
	}
	done, err := pipeline.Delete(ctx, pipeline.Deleting{
		Entry: entry, Catalog: catalog, CatalogPool: pool, ViewPool: views, Admin: admin, WithTopics: o.withTopics,
	})
	switch {
	case errors.Is(err, pipeline.ErrInUse):
		return exit.With(exit.Refused, fmt.Errorf("%w; stop them first, or wait until a lease has expired; nothing was deleted", err))
	case errors.Is(err, postgres.ErrForeignView):
		return exit.With(exit.Refused, err)
	case err != nil:
		return fmt.Errorf("%w; deleting again goes on", connect.Refuse(err))
	}
	return o.write(done)
}

// ask has the name typed on the terminal. Without one, or where it is another name, nothing is done.
func (o *options) ask(ctx context.Context, e postgres.Entry) error {
	if o.confirm == e.Name {
		return nil
	}
	if !o.app.StdinTTY {
		return exit.With(exit.Usage, fmt.Errorf("delete has the name typed and stdin is no terminal; give --confirm %s", e.Name))
	}
	what := "its state and its view"
	if o.withTopics {
		what += ", and its topics"
	}
	if _, err := fmt.Fprintf(o.app.Stderr, "This deletes namespace %s with %s for good. Type its name: ", e.Name, what); err != nil {
		return fmt.Errorf("ask: %w", err)
	}
	answer := make(chan string, 1)
	go func() {
		// A failed read gives what was read so far, which is not the name.
		line, _ := bufio.NewReader(o.app.Stdin).ReadString('\n')
		answer <- strings.TrimSpace(line)
	}()
	select {
	case <-ctx.Done():
		return fmt.Errorf("nothing was deleted: %w", ctx.Err())
	case line := <-answer:
		if line == e.Name {
			return nil
		}
		return errors.New("that is not the name; nothing was deleted")
	}
}

// write prints what was done.
func (o *options) write(done pipeline.Deleted) error {
	if o.asJSON {
		encoder := json.NewEncoder(o.app.Stdout)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(done); err != nil {
			return fmt.Errorf("write what was done: %w", err)
		}
		return nil
	}
	text := "deleted namespace " + done.Namespace + "\n"
	for _, topic := range done.TopicsDeleted {
		text += "deleted topic " + topic + "\n"
	}
	for _, kept := range done.TopicsKept {
		text += "kept topic " + kept.Topic + ": " + kept.Reason + "\n"
	}
	if _, err := io.WriteString(o.app.Stdout, text); err != nil {
		return fmt.Errorf("write what was done: %w", err)
	}
	return nil
}
