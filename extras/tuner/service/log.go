package main

import (
	"os"
	"sync"
	"time"
)

// decisionLog appends decisions to a file, as lines of JSON. After an error of writing it says so once, and writes
// nothing more until it is opened again.
type decisionLog struct {
	lock   sync.Mutex
	path   string
	file   *os.File
	teller *teller
}

// open opens the file at the path, also after log rotation has put a new file there; an empty path closes the log.
func (l *decisionLog) open(path string) error {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.close()
	l.path = path
	if path == "" {
		return nil
	}
	var err error
	l.file, err = os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o640)
	return err
}

func (l *decisionLog) note(line []byte) {
	l.lock.Lock()
	defer l.lock.Unlock()
	if l.file == nil {
		return
	}
	if _, err := l.file.Write(line); err != nil {
		l.close()
		complain("%s cannot be written: %v; tuning continues, SIGHUP reopens the file", l.path, reason(err))
	}
}

func (l *decisionLog) close() {
	if l.file != nil {
		_ = l.file.Close()
		l.file = nil
	}
}

const betweenLines = time.Second

type who struct {
	peer           string
	peerPort, port uint32
}

// recent is a connection about which a line was printed less than a second ago. told: the line's value. last: the last
// change since the line.
type recent struct {
	until uint64
	told  uint32
	last  *Decision
}

// printer prints decisions: a connection's first change at once, later changes in one line per second.
type printer struct {
	lock   sync.Mutex
	say    func(string, ...any)
	recent map[who]*recent
}

func (p *printer) note(decision *Decision) {
	p.lock.Lock()
	defer p.lock.Unlock()
	key := who{decision.Peer, uint32(decision.PeerPort), decision.Port}
	known := p.recent[key]
	switch {
	case decision.Outcome != wasSet && decision.Outcome != wasDry:
		p.say("%s", decision)
	case known == nil:
		p.say("%s", decision)
		p.recent[key] = &recent{decision.TNs + uint64(betweenLines), decision.New, nil}
	default:
		known.last = decision
	}
}

// look prints the lines that are due at nowNs.
func (p *printer) look(nowNs uint64) {
	p.lock.Lock()
	defer p.lock.Unlock()
	for key, known := range p.recent {
		if known.until > nowNs {
			continue
		}
		delete(p.recent, key)
		if known.last != nil && known.last.New != known.told {
			known.last.Old = known.told
			p.say("%s", known.last)
			p.recent[key] = &recent{nowNs + uint64(betweenLines), known.last.New, nil}
		}
	}
}
