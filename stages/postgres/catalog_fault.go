package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

var (
	// ErrUnreachable is wrapped by Explain where no server answers.
	ErrUnreachable = errors.New("no server answers")
	// ErrCredentials is wrapped by Explain where the server refuses user or password.
	ErrCredentials = errors.New("the server refuses the credentials")
	// ErrNoDatabase is wrapped by Explain where the server has no such database.
	ErrNoDatabase = errors.New("the server has no such database")
	// ErrPermission is wrapped by Explain where the user lacks a right.
	ErrPermission = errors.New("the user lacks a right")
	// ErrURL is wrapped by Explain where the connection URL cannot be read.
	ErrURL = errors.New("the connection URL cannot be read")
)

// Explain sorts an error of Connect or of a statement into the causes a user can do something about; other errors, and
// nil, are returned as they are. The text of its errors never holds a password.
func Explain(err error) error {
	var parse *pgconn.ParseConfigError
	var connect *pgconn.ConnectError
	switch state := sqlState(err); {
	case err == nil, errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &parse):
		return fmt.Errorf("%w: %w", ErrURL, err)
	case strings.HasPrefix(state, "28"):
		return fmt.Errorf("%w: %w", ErrCredentials, err)
	case state == "3D000":
		return fmt.Errorf("%w: %w", ErrNoDatabase, err)
	case state == "42501":
		return fmt.Errorf("%w: %w", ErrPermission, err)
	case errors.As(err, &connect):
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	default:
		return err
	}
}

// Place renders where a connection URL leads, as user@host:port/database, without its password; empty where the URL
// cannot be read.
func Place(url string) string {
	config, err := pgconn.ParseConfig(url)
	if err != nil {
		return ""
	}
	host := config.Host
	if !strings.HasPrefix(host, "/") {
		host = net.JoinHostPort(host, strconv.FormatUint(uint64(config.Port), 10))
	}
	return fmt.Sprintf("%s@%s/%s", config.User, host, config.Database)
}
