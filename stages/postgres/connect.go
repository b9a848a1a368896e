package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// DefaultIdleInTransaction is how long a session may sit inside a transaction before the server ends it: what frees
// the partition lock of a frozen process (R15, B030). It is well above the pauses of a healthy worker.
const DefaultIdleInTransaction = 20 * time.Second

// DefaultUserTimeout is how long sent bytes may stay unacknowledged before the connection of a vanished peer is given
// up, by the server and by this client's keep-alive probes (R15).
const DefaultUserTimeout = 20 * time.Second

// Options are what a pool is opened with.
type Options struct {
	// URL is a connection URL or keyword string, as libpq takes it.
	URL string
	// Schema becomes the search_path of every connection: the name as it is, unquoted. Empty leaves nothing on it.
	Schema string
	// Application shows in pg_stat_activity; "amends" where empty.
	Application string
	// MaxConns bounds the pool; 0 keeps pgx's default of at least 4.
	MaxConns int32
	// IdleInTransaction and UserTimeout replace the defaults where positive.
	IdleInTransaction, UserTimeout time.Duration
	// Configure may change the pool's configuration last: tracers, a wrapped network connection.
	Configure func(*pgxpool.Config)
}

// Connect opens a pool and checks that the server answers. The text of its errors never holds the password.
func Connect(ctx context.Context, opts Options) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(opts.URL)
	if err != nil {
		return nil, unreadable(err)
	}
	if opts.MaxConns > 0 {
		config.MaxConns = opts.MaxConns
	}
	user := orDefault(opts.UserTimeout, DefaultUserTimeout)
	params := config.ConnConfig.RuntimeParams
	params["application_name"] = opts.Application
	if opts.Application == "" {
		params["application_name"] = "amends"
	}
	params["search_path"] = `""`
	if opts.Schema != "" {
		params["search_path"] = quote(opts.Schema)
	}
	params["client_encoding"] = "UTF8"
	params["timezone"] = "UTC"
	params["datestyle"] = "ISO, YMD"
	params["idle_in_transaction_session_timeout"] = millis(orDefault(opts.IdleInTransaction, DefaultIdleInTransaction))
	maps.Copy(params, plans)
	params["tcp_user_timeout"] = millis(user)
	params["tcp_keepalives_idle"] = strconv.Itoa(max(1, int(user/(2*time.Second))))
	params["tcp_keepalives_interval"] = "5"
	dialer := &net.Dialer{KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: user / 2, Interval: max(time.Second, user/6), Count: 3,
	}}
	config.ConnConfig.DialFunc = dialer.DialContext
	config.ConnConfig.ConnectTimeout = orDefault(config.ConnConfig.ConnectTimeout, user)
	if opts.Configure != nil {
		opts.Configure(config)
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("connect to the database: %w", err)
	}
	if err := probe(ctx, pool); err != nil {
		pool.Close()
		return nil, fmt.Errorf("connect to the database: %w", err)
	}
	return pool, nil
}

// ErrEncoding is wrapped by Connect where the database cannot hold every text: a transaction ID is any UTF-8.
var ErrEncoding = errors.New("the database must have the encoding UTF8")

// probe checks that the server answers and that the database holds every text as it is. SQL_ASCII does: it takes bytes as
// they come.
func probe(ctx context.Context, pool *pgxpool.Pool) error {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	if err := conn.Ping(ctx); err != nil {
		return err
	}
	switch encoding := conn.Conn().PgConn().ParameterStatus("server_encoding"); encoding {
	case "UTF8", "SQL_ASCII", "": // a proxy may not tell
		return nil
	default:
		return fmt.Errorf("%w, it has %s", ErrEncoding, encoding)
	}
}

// plans leave the planner no choice but the indexes, by nested loops. All that the stages look for is named by its key; but
// their statements are planned once for a connection, while the tables are empty or were never analyzed, and a plan that is
// best for an empty table reads all of a large one for every unit of work, until somebody analyzes it. A plan without an
// index is then priced so high that it would be compiled, for longer than it runs.
var plans = map[string]string{"enable_seqscan": "off", "enable_hashjoin": "off", "enable_mergejoin": "off", "jit": "off"}

// querier is what pools, connections and transactions have in common.
type querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

func orDefault(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return otherwise
}

func millis(d time.Duration) string { return strconv.FormatInt(max(1, d.Milliseconds()), 10) }

// quote returns name as a quoted SQL identifier.
func quote(name string) string { return pgx.Identifier{name}.Sanitize() }

// sqlState is the five-character code of a server error, empty for any other error.
func sqlState(err error) string {
	var server *pgconn.PgError
	if errors.As(err, &server) {
		return server.Code
	}
	return ""
}
