package kafkatest

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// pom names the broker's artifacts and versions.
//
//go:embed pom.xml
var pom []byte

// mavenTimeout bounds one download of the broker's jars.
const mavenTimeout = 5 * time.Minute

// jars returns the folder that holds the broker's jars, fetched through Maven unless the cache has them. Processes
// that ask at the same moment wait for one download.
func jars() (string, error) {
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(pom)
	home := filepath.Join(cache, "kafka-"+hex.EncodeToString(sum[:6]))
	if err := os.MkdirAll(home, 0o755); err != nil {
		return "", fmt.Errorf("cache of broker jars: %w", err)
	}
	lock, err := lockFile(filepath.Join(home, "lock"), true)
	if err != nil {
		return "", fmt.Errorf("cache of broker jars: %w", err)
	}
	defer func() { _ = lock.Close() }()
	lib := filepath.Join(home, "lib")
	if _, err := os.Stat(lib); err == nil {
		return lib, nil
	}
	return lib, download(home, lib)
}

// download fetches into a folder beside lib and renames it, so that lib is never half-filled.
func download(home, lib string) error {
	if err := os.WriteFile(filepath.Join(home, "pom.xml"), pom, 0o644); err != nil {
		return fmt.Errorf("write pom.xml: %w", err)
	}
	partial := filepath.Join(home, "partial")
	if err := os.RemoveAll(partial); err != nil {
		return fmt.Errorf("clear an interrupted download: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), mavenTimeout)
	defer cancel()
	maven := exec.CommandContext(ctx, "mvn", "-B", "-q",
		"org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies",
		"-DoutputDirectory="+partial, "-DincludeScope=runtime")
	maven.Dir = home
	if output, err := maven.CombinedOutput(); err != nil {
		return fmt.Errorf("fetch the broker's jars with Maven: %w: %s", err, output)
	}
	return os.Rename(partial, lib)
}

// cacheDir is AMENDS_TEST_CACHE, or amends in the user's cache folder, or one in the temporary folder where the
// environment names no home.
func cacheDir() (string, error) {
	if dir := os.Getenv("AMENDS_TEST_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	if dir, err := os.UserCacheDir(); err == nil {
		return filepath.Join(dir, "amends"), nil
	}
	return filepath.Join(os.TempDir(), "amends-cache"), nil
}
