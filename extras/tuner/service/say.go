package main

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// Priorities of syslog(3), as the journal reads them at the beginning of a line.
const (
	journalError   = 3
	journalWarning = 4
	journalInfo    = 6
)

// teller prints lines on standard output, or in the journal. After an error of writing it says so once, and is silent.
type teller struct {
	lock      sync.Mutex
	toJournal bool
	failed    bool
	closed    chan struct{} // closed when the reader of standard output has gone
}

func newTeller() *teller {
	return &teller{toJournal: isJournal(os.Stdout), closed: make(chan struct{})}
}

// isJournal tells whether a file is the journal's socket: systemd names the socket's device and inode.
func isJournal(file *os.File) bool {
	var it unix.Stat_t
	err := unix.Fstat(int(file.Fd()), &it)
	return err == nil && os.Getenv("JOURNAL_STREAM") == fmt.Sprintf("%d:%d", it.Dev, it.Ino)
}

func (t *teller) say(form string, values ...any)  { t.print(journalInfo, form, values...) }
func (t *teller) warn(form string, values ...any) { t.print(journalWarning, form, values...) }

func (t *teller) print(priority int, form string, values ...any) {
	t.lock.Lock()
	defer t.lock.Unlock()
	if t.failed {
		return
	}
	line := fmt.Sprintf(form, values...) + "\n"
	if t.toJournal {
		line = fmt.Sprintf("<%d>%s", priority, line)
	}
	_, err := os.Stdout.WriteString(line)
	switch {
	case errors.Is(err, unix.EPIPE):
		t.failed = true
		close(t.closed)
	case err != nil:
		t.failed = true
		complain("standard output cannot be written: %v; tuning continues", reason(err))
	}
}

// complain prints a line on standard error.
func complain(form string, values ...any) {
	name := "priority-tuner: "
	if isJournal(os.Stderr) {
		name = fmt.Sprintf("<%d>", journalError)
	}
	fmt.Fprintf(os.Stderr, name+form+"\n", values...)
}
