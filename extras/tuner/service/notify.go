package main

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// notify tells the service manager about this process, as sd_notify(3) does. Without a manager it does nothing.
func notify(lines string) {
	path := os.Getenv("NOTIFY_SOCKET")
	if path == "" {
		return
	}
	socket, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return
	}
	defer socket.Close()
	_, _ = socket.Write([]byte(lines))
}

// notifyReloading tells the service manager that the settings are read anew; READY=1 ends this state.
func notifyReloading() {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
	notify(fmt.Sprintf("RELOADING=1\nMONOTONIC_USEC=%d", now.Nano()/1000))
}

// watchdogInterval returns how often the service manager wants a sign of life; 0 if it wants none.
func watchdogInterval() time.Duration {
	if pid := os.Getenv("WATCHDOG_PID"); pid != "" && pid != strconv.Itoa(os.Getpid()) {
		return 0
	}
	us, _ := strconv.ParseInt(os.Getenv("WATCHDOG_USEC"), 10, 64)
	return time.Duration(us) * time.Microsecond / 2
}
