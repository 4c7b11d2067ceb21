package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const sysctlFile = "/proc/sys/net/ipv4/tcp_notsent_lowat"

// processes returns the ids of the processes in a cgroup and in its descendants, as far as this process sees them.
func processes(cgroup string) []int {
	found := []int{}
	_ = filepath.WalkDir(cgroup, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return nil // the folder has gone meanwhile
		}
		content, _ := os.ReadFile(filepath.Join(path, "cgroup.procs")) // empty if the cgroup has only threads
		for _, word := range strings.Fields(string(content)) {
			if pid, err := strconv.Atoi(word); err == nil && pid != 0 {
				found = append(found, pid)
			}
		}
		return nil
	})
	return found
}

// sysctlsOf returns tcp_notsent_lowat by the cookie of the network namespace, for this process's namespace and those
// of the processes. Processes that have ended are left out. refused: why another namespace was left out, if one was.
func sysctlsOf(pids []int) (found map[uint64]uint32, refused, err error) {
	found = map[uint64]uint32{}
	here, err := os.Stat("/proc/self/ns/net")
	if err == nil {
		err = readHere(found)
	}
	if errors.Is(err, unix.ENOPROTOOPT) {
		err = impossibly("Linux %s does not number network namespaces; use Linux 5.15 or newer, or give --ceiling BYTES",
			release())
	}
	if err != nil {
		return nil, nil, err
	}
	seen := []os.FileInfo{here}
	for _, pid := range pids {
		namespace, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", pid))
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
			continue
		}
		if err == nil {
			seen, err = readOnce(namespace, seen, found)
			namespace.Close()
		}
		if err != nil && refused == nil {
			refused = err
		}
	}
	return found, refused, nil
}

// readOnce reads the sysctl of a namespace that is not among those seen, and returns those seen with this one.
func readOnce(namespace *os.File, seen []os.FileInfo, found map[uint64]uint32) ([]os.FileInfo, error) {
	which, err := namespace.Stat()
	if err != nil {
		return seen, err
	}
	for _, other := range seen {
		if os.SameFile(which, other) {
			return seen, nil
		}
	}
	return append(seen, which), readThere(namespace, found)
}

// readThere reads the sysctl of another namespace, in a thread that enters it. The thread ends with the function.
func readThere(namespace *os.File, found map[uint64]uint32) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked, so that no other goroutine gets the thread
		err := unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET)
		if err == nil {
			err = readHere(found)
		}
		done <- err
	}()
	return <-done
}

func readHere(found map[uint64]uint32) error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	cookie, err := unix.GetsockoptUint64(socket, unix.SOL_SOCKET, unix.SO_NETNS_COOKIE)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(sysctlFile)
	if err != nil {
		return err
	}
	value, err := strconv.ParseInt(strings.TrimSpace(string(content)), 10, 64)
	found[cookie] = uint32(value)
	return err
}
