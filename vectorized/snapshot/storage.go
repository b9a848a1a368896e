package snapshot

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// storage is what a writer does to the disk, so that tests can make it fail at any step.
type storage interface {
	// create makes a new file, replacing an old one.
	create(path string) (file, error)
	// rename moves a file or folder in one step.
	rename(from, to string) error
	// remove deletes a file.
	remove(path string) error
	// syncFolder makes the names in a folder durable.
	syncFolder(path string) error
}

// file is a file being written.
type file interface {
	io.WriteCloser
	// Sync makes the content durable.
	Sync() error
}

// disk is the real storage.
type disk struct{}

func (disk) create(path string) (file, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
}

func (disk) rename(from, to string) error { return os.Rename(from, to) }

func (disk) remove(path string) error { return os.Remove(path) }

func (disk) syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// replace writes a small file in one step: a reader sees the old content or the new one, also after a crash.
func replace(s storage, path string, data []byte) error {
	draft := path + ".tmp"
	f, err := s.create(draft)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, s.remove(draft))
	}
	if err := s.rename(draft, path); err != nil {
		return err
	}
	return s.syncFolder(filepath.Dir(path))
}

// exists reports whether there is something at a path.
func exists(path string) (bool, error) {
	_, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// folderLock holds a folder against other writers until it is closed or the process ends. It is taken on the folder
// itself, so that nothing is left behind and the lock goes with the folder when it is renamed.
type folderLock struct{ folder *os.File }

// HeldError says that another export is writing into the folder.
type HeldError struct {
	// Folder is what the other one holds.
	Folder string
}

// Error implements error.
func (e *HeldError) Error() string { return "another export is writing into " + e.Folder }

// lockFolder locks a folder that exists.
func lockFolder(path string) (*folderLock, error) {
	folder, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := flock(folder); err != nil {
		return nil, errors.Join(&HeldError{path}, err, folder.Close())
	}
	held, err := folder.Stat()
	if err != nil {
		return nil, errors.Join(err, folder.Close())
	}
	// The other writer may have renamed the folder between the open and the lock.
	if now, err := os.Stat(path); err != nil || !os.SameFile(held, now) {
		return nil, errors.Join(fmt.Errorf("%s was published by another export meanwhile: run again", path), folder.Close())
	}
	return &folderLock{folder}, nil
}

// release gives the folder free.
func (l *folderLock) release() error { return l.folder.Close() }
