package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// errTaken: another tuner is at work in a cgroup, above it or below it.
var errTaken = errors.New("another tuner is at work")

// claim locks a cgroup, so that no other tuner works on it, above it or below it: an exclusive lock on its folder, and
// a shared one on each folder of the hierarchy above. The locks end with the process, and leave no file.
func claim(cgroup *os.File) (release func(), err error) {
	open := []*os.File{}
	release = func() {
		for _, folder := range open {
			folder.Close()
		}
	}
	path, err := filepath.EvalSymlinks(cgroup.Name())
	for how := unix.LOCK_EX; err == nil && (how == unix.LOCK_EX || isCgroup(path)); how = unix.LOCK_SH {
		var folder *os.File
		if folder, err = os.Open(path); err != nil {
			break
		}
		open = append(open, folder)
		err = unix.Flock(int(folder.Fd()), how|unix.LOCK_NB)
		if errors.Is(err, unix.EWOULDBLOCK) {
			text := fmt.Sprintf("%v in cgroup %s; end the other tuner first", errTaken, path)
			err = &problem{code: impossible, text: text, cause: errTaken}
		}
		path = filepath.Dir(path)
	}
	if err != nil {
		release()
	}
	return release, err
}

func isCgroup(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, "cgroup.procs"))
	return err == nil
}
