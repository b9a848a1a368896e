//go:build !unix

package pgserver

import (
	"errors"
	"io"
	"os/exec"
)

var errUnsupported = errors.New("a private Postgres server needs a Unix system: pass --database-url instead")

type serverUser struct{}

func dropTarget() (serverUser, error)                  { return serverUser{}, errUnsupported }
func (serverUser) apply(*exec.Cmd)                     {}
func (serverUser) prepareDir(string) ([]string, error) { return nil, errUnsupported }
func (serverUser) writeFile(string, []byte) error      { return errUnsupported }
func (serverUser) own(string) error                    { return errUnsupported }
func (s *Server) startGuard() (io.Closer, error)       { return nil, errUnsupported }
