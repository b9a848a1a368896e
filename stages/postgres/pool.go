package postgres

import "github.com/jackc/pgx/v5/pgxpool"

// Pool is a pool of connections as Connect opens it. The alias lets composition code hold one without importing the
// driver.
type Pool = pgxpool.Pool
