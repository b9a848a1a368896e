//go:build unix

package pgserver

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// serverUser is who the server runs as; the zero value is the current user.
type serverUser struct {
	drop     bool
	uid, gid uint32
}

// dropTarget is the current user, or for root the first of postgres and nobody that exists: Postgres refuses root.
func dropTarget() (serverUser, error) {
	if os.Geteuid() != 0 {
		return serverUser{}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
		if uidErr != nil || gidErr != nil || uid == 0 {
			continue
		}
		return serverUser{drop: true, uid: uint32(uid), gid: uint32(gid)}, nil
	}
	return serverUser{}, errors.New("Postgres does not run as root and there is neither a user postgres nor nobody: " +
		"run as another user")
}

// apply makes cmd run as the server's user in a process group of its own, so that a Ctrl-C at the terminal reaches this
// process, which then stops the server in order.
func (u serverUser) apply(cmd *exec.Cmd) {
	attr := &syscall.SysProcAttr{Setpgid: true}
	if u.drop {
		attr.Credential = &syscall.Credential{Uid: u.uid, Gid: u.gid}
	}
	cmd.SysProcAttr = attr
}

// prepareDir creates dir for the server's user alone. Where the user is dropped to, every parent gets the execute bit
// for others that it lacks: passing through, not listing. It returns the parents that got it.
func (u serverUser) prepareDir(dir string) (opened []string, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the database folder: %w", err)
	}
	if !u.drop {
		return nil, nil
	}
	if err := os.Chown(dir, int(u.uid), int(u.gid)); err != nil {
		return nil, fmt.Errorf("hand the database folder to the server's user: %w", err)
	}
	for parent := filepath.Dir(dir); ; parent = filepath.Dir(parent) {
		info, err := os.Stat(parent)
		if err != nil {
			return opened, fmt.Errorf("make %s reachable for the server's user: %w", dir, err)
		}
		if owner, ok := info.Sys().(*syscall.Stat_t); ok && owner.Uid != u.uid && info.Mode().Perm()&0o001 == 0 {
			if err := os.Chmod(parent, info.Mode().Perm()|0o001); err != nil {
				return opened, fmt.Errorf("make %s reachable for the server's user: %w", dir, err)
			}
			opened = append(opened, parent)
		}
		if parent == filepath.Dir(parent) {
			return opened, nil
		}
	}
}

// writeFile writes a file that only the server's user may read.
func (u serverUser) writeFile(path string, data []byte) error {
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return err
	}
	if u.drop {
		return os.Chown(path, int(u.uid), int(u.gid))
	}
	return nil
}

// own hands a whole tree to the server's user.
func (u serverUser) own(dir string) error {
	if !u.drop {
		return nil
	}
	root, err := os.OpenRoot(dir) // links in the tree cannot lead out of it
	if err != nil {
		return fmt.Errorf("hand %s to the server's user: %w", dir, err)
	}
	defer func() { _ = root.Close() }()
	return fs.WalkDir(root.FS(), ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return root.Lchown(path, int(u.uid), int(u.gid))
	})
}

// guardScript waits for the end of its input, which is the end of the process that holds the other end of the pipe,
// however it ended; then it stops the server, unless another has taken its place meanwhile, and removes the folder of an
// ephemeral one. It needs nothing of PATH.
const guardScript = `while read -r line; do :; done
read -r pid <"$2/postmaster.pid" && [ "$pid" = "$4" ] && "$1" stop -w -s -m fast -D "$2" >/dev/null 2>&1
[ -z "$3" ] || /bin/rm -rf "$3"`

// startGuard starts the guard process. Closing it ends the guard.
func (s *Server) startGuard() (io.Closer, error) {
	remove := ""
	if s.opts.Ephemeral {
		remove = s.opts.Dir
	}
	pid, err := s.pid()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("/bin/sh", "-c", guardScript, "amends-pg-guard", s.bin.PGCtl, s.cluster(), remove, pid)
	cmd.Env = s.environment()
	cmd.Dir = "/"
	s.user.apply(cmd)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &guard{cmd: cmd, in: in}, nil
}

// pid is the process ID of the running server.
func (s *Server) pid() (string, error) {
	text, err := os.ReadFile(filepath.Join(s.cluster(), "postmaster.pid"))
	if err != nil {
		return "", err
	}
	pid, _, _ := strings.Cut(string(text), "\n")
	return pid, nil
}

type guard struct {
	cmd *exec.Cmd
	in  io.Closer
}

// Close kills the guard before it sees the end of its input, and reaps it.
func (g *guard) Close() error {
	if err := syscall.Kill(-g.cmd.Process.Pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	_ = g.in.Close()
	_ = g.cmd.Wait() // its status is our own kill
	return nil
}
