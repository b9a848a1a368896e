package connect

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/exit"
	"amends.dev/amends/stages/kafka"
)

// setting is one flag with the environment variable that stands in where the flag is not given.
type setting struct {
	flag, variable, usage string
	value                 string
}

// Flags are the connection flags of one verb.
type Flags struct {
	database, view, brokers                    *setting
	tls, tlsCA, tlsCert, tlsKey, tlsServerName *setting
	saslMechanism, saslUser, saslPasswordFile  *setting
	context                                    *setting
	all                                        []*setting
	cmd                                        *cobra.Command
}

// passwordVariable holds the SASL password itself; no flag does, because command lines can be read by others.
const passwordVariable = "AMENDS_SASL_PASSWORD"

// Register declares the connection flags on a verb.
func Register(cmd *cobra.Command) *Flags {
	f := &Flags{cmd: cmd}
	add := func(flag, variable, usage string) *setting {
		s := &setting{flag: flag, variable: variable, usage: usage}
		cmd.Flags().StringVar(&s.value, flag, "", usage+" ["+variable+"]")
		f.all = append(f.all, s)
		return s
	}
	f.database = add("database-url", "AMENDS_DATABASE_URL", "Postgres of catalog and processing state, as postgres://user@host:5432/name")
	f.view = add("view-database-url", "AMENDS_VIEW_DATABASE_URL", "Postgres of the view, where it is another one")
	f.brokers = add("brokers", "AMENDS_BROKERS", "Kafka brokers, as host:port,host:port")
	f.tls = add("tls", "AMENDS_TLS", "connect to the brokers with TLS: true or false; implied by the other tls flags")
	cmd.Flags().Lookup("tls").NoOptDefVal = "true"
	f.tlsCA = add("tls-ca", "AMENDS_TLS_CA", "file of the certificates to trust, instead of the system's")
	f.tlsCert = add("tls-cert", "AMENDS_TLS_CERT", "file of a client certificate")
	f.tlsKey = add("tls-key", "AMENDS_TLS_KEY", "file of the client certificate's key")
	f.tlsServerName = add("tls-server-name", "AMENDS_TLS_SERVER_NAME", "name that the brokers' certificates must carry, instead of their address")
	f.saslMechanism = add("sasl-mechanism", "AMENDS_SASL_MECHANISM", "PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512 (default PLAIN where a user is given)")
	f.saslUser = add("sasl-user", "AMENDS_SASL_USER", "user of the brokers")
	f.context = add("context", "AMENDS_CONTEXT", "YAML file of these settings under the names of their flags; flags and environment win")
	f.saslPasswordFile = add("sasl-password-file", "AMENDS_SASL_PASSWORD_FILE", "file of the user's password; or the password itself in "+passwordVariable)
	return f
}

// Resolve reads flags, environment and context file, in this order of precedence. It connects to nothing. Values that contradict each other are an error with exit
// code 2; what is missing is one only when it is opened.
func (f *Flags) Resolve(a *app.App) (Connections, error) {
	if err := f.fill(a); err != nil {
		return Connections{}, exit.With(exit.Usage, err)
	}
	c := Connections{
		database: database{url: kafka.NewSecret(f.database.value), setting: "--database-url or AMENDS_DATABASE_URL"},
		view:     database{url: kafka.NewSecret(f.view.value), setting: "--view-database-url or AMENDS_VIEW_DATABASE_URL"},
	}
	if f.view.value == "" {
		c.view = c.database
	}
	for broker := range strings.SplitSeq(f.brokers.value, ",") {
		if broker = strings.TrimSpace(broker); broker != "" {
			c.Kafka.Brokers = append(c.Kafka.Brokers, broker)
		}
	}
	var err error
	if c.Kafka.TLS, err = f.resolveTLS(); err != nil {
		return Connections{}, exit.With(exit.Usage, err)
	}
	if c.Kafka.SASL, err = f.resolveSASL(a); err != nil {
		return Connections{}, exit.With(exit.Usage, err)
	}
	return c, nil
}

// fill gives every setting its value.
func (f *Flags) fill(a *app.App) error {
	known := map[string]bool{}
	for _, s := range f.all {
		if s != f.context {
			known[s.flag] = true
		}
		if !f.cmd.Flags().Changed(s.flag) {
			s.value = a.Getenv(s.variable)
		}
	}
	if f.context.value == "" {
		return nil
	}
	values, err := readContext(f.context.value, known)
	if err != nil {
		return err
	}
	for _, s := range f.all {
		if s.value == "" && !f.cmd.Flags().Changed(s.flag) {
			s.value = values[s.flag]
		}
	}
	return nil
}

func (f *Flags) resolveTLS() (*kafka.TLS, error) {
	t := &kafka.TLS{CAFile: f.tlsCA.value, CertFile: f.tlsCert.value, KeyFile: f.tlsKey.value, ServerName: f.tlsServerName.value}
	implied := *t != (kafka.TLS{})
	if f.tls.value == "" {
		if implied {
			return t, nil
		}
		return nil, nil
	}
	wanted, err := strconv.ParseBool(f.tls.value)
	switch {
	case err != nil:
		return nil, fmt.Errorf("--tls %s: want true or false", f.tls.value)
	case !wanted && implied:
		return nil, errors.New("--tls=false contradicts the other tls settings")
	case !wanted:
		return nil, nil
	}
	return t, nil
}

func (f *Flags) resolveSASL(a *app.App) (*kafka.SASL, error) {
	if f.saslUser.value == "" {
		if f.saslMechanism.value != "" || f.saslPasswordFile.value != "" {
			return nil, errors.New("SASL settings without a user; set --sasl-user or AMENDS_SASL_USER")
		}
		return nil, nil
	}
	s := &kafka.SASL{Mechanism: strings.ToUpper(f.saslMechanism.value), User: f.saslUser.value}
	if s.Mechanism == "" {
		s.Mechanism = "PLAIN"
	}
	password := a.Getenv(passwordVariable)
	if f.saslPasswordFile.value != "" {
		text, err := os.ReadFile(f.saslPasswordFile.value)
		if err != nil {
			return nil, fmt.Errorf("read the SASL password: %w", err)
		}
		password = strings.TrimRight(string(text), "\r\n")
	}
	if password == "" {
		return nil, fmt.Errorf("user %s has no password; set --sasl-password-file or %s", s.User, passwordVariable)
	}
	s.Password = kafka.NewSecret(password)
	return s, nil
}
