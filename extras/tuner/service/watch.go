package main

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// watch tells when a folder above a cgroup has changed, so that a cgroup that is made anew is tuned before its service
// starts. Without it, as where inotify(7) has no room, changes are seen a little later.
type watch struct {
	number  int // the descriptor; File.Fd would make reads block
	file    *os.File
	changed chan struct{}
}

func newWatch() *watch {
	made := &watch{changed: make(chan struct{}, 1)}
	number, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return made
	}
	made.number = number
	made.file = os.NewFile(uintptr(number), "inotify")
	go made.read()
	return made
}

func (w *watch) read() {
	buffer := make([]byte, 1<<12)
	for {
		if _, err := w.file.Read(buffer); err != nil {
			return
		}
		select {
		case w.changed <- struct{}{}:
		default:
		}
	}
}

// follow watches the lowest folder that exists above each cgroup. Watching a folder again changes nothing.
func (w *watch) follow(groups []*group) {
	for _, each := range groups {
		for folder := filepath.Dir(each.path); w.file != nil; folder = filepath.Dir(folder) {
			_, err := unix.InotifyAddWatch(w.number, folder, unix.IN_CREATE|unix.IN_DELETE|unix.IN_ONLYDIR)
			if err == nil || folder == "/" {
				break
			}
		}
	}
}

func (w *watch) close() {
	if w.file != nil {
		w.file.Close()
	}
}
