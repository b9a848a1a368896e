package conformance

import (
	"context"
	"fmt"
	"io/fs"
	"os"

	"amends.dev/amends/internal/cli/connect"
)

// folderAt is a corpus in a folder of the user's.
func folderAt(dir string) (fs.FS, error) {
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the corpus: %w", err)
	case !info.IsDir():
		return nil, fmt.Errorf("read the corpus: %s is a file; name the folder that it is in", dir)
	}
	return os.DirFS(dir), nil
}

// answers proves that the given database can be used, once, instead of letting every scenario find out.
func answers(ctx context.Context, given connect.Connections) error {
	pool, err := given.Catalog(ctx)
	if err != nil {
		return err
	}
	pool.Close()
	return nil
}
