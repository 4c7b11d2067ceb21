package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// restore gives the open connections of a cgroup's processes the value that the server had set, if they still have
// the tuner's value; returns their number. The program must be detached. say: receives what could not be done.
//
// A connection's state is found by a descriptor of its socket, so sockets that no process of the cgroup holds open
// keep the tuner's value. A socket iterator would find them, but needs a kernel with BTF of its own.
func restore(cgroup string, states *program, say func(string, ...any)) int {
	count := 0
	for _, pid := range processes(cgroup) {
		restored, err := restoreProcess(pid, states)
		count += restored
		if err != nil {
			say("process %d: %v; its connections keep their present LOWAT", pid, reason(err))
		}
	}
	return count
}

func restoreProcess(pid int, states *program) (int, error) {
	pidfd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer unix.Close(pidfd)
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fdinfo", pid)) // unlike fd/, open to other users who may ptrace(2)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return 0, nil
	}
	count := 0
	for _, entry := range entries {
		number, notNumber := strconv.Atoi(entry.Name())
		if notNumber != nil {
			continue
		}
		borrowed, failure := unix.PidfdGetfd(pidfd, number, 0)
		if errors.Is(failure, unix.EBADF) || errors.Is(failure, unix.ESRCH) {
			continue // closed meanwhile
		}
		if failure != nil {
			return count, failure
		}
		if putBack(borrowed, states) {
			count++
		}
		unix.Close(borrowed)
	}
	return count, err
}

// putBack gives a socket the server's value back; returns false if the file is no socket with the tuner's value.
func putBack(socket int, states *program) bool {
	var state connection
	if states.Maps["connections"].Lookup(uint32(socket), &state) != nil {
		cookie, err := unix.GetsockoptUint64(socket, unix.SOL_SOCKET, unix.SO_COOKIE)
		if err != nil || states.Maps["others"].Lookup(cookie, &state) != nil {
			return false
		}
	}
	if state.Lowat == 0 {
		return false
	}
	has, err := unix.GetsockoptInt(socket, unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT)
	if err != nil || uint32(has) != state.Lowat {
		return false
	}
	return unix.SetsockoptInt(socket, unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, int(state.Own)) == nil
}
