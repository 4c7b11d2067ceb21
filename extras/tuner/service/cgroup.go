package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/ringbuf"
	"golang.org/x/sys/unix"
)

// group is a cgroup whose connections are tuned, also after it was removed and made anew.
type group struct {
	path     string
	teller   *teller
	note     func([]byte)
	program  *program // nil until there was a cgroup
	reader   *ringbuf.Reader
	read     chan struct{} // closed when no more decisions come
	attached os.FileInfo   // the cgroup to which the program is attached; nil while there is none
	link     *link.RawLink
	release  func()
	taken    error           // why the cgroup is left to another tuner; nil if it is not
	told     bool            // the operator knows of it
	leaving  []*link.RawLink // to removed cgroups, which have connections that are still open
	refused  bool            // a namespace's sysctl could not be read
	unlogged uint64
}

// newGroup attaches the program to the cgroup; later if another tuner is at work there or, with settings.Wait, if there is
// no cgroup yet. note: receives each decision.
func newGroup(path string, settings *Settings, teller *teller, note func([]byte)) (*group, error) {
	made := &group{path: path, teller: teller, note: note}
	err := checkCgroup(path)
	if err == nil {
		err = made.tryToAttach(settings)
	}
	if err != nil && !(settings.Wait && errors.Is(err, os.ErrNotExist)) {
		made.close()
		return nil, err
	}
	return made, nil
}

// load loads the program, unless it is loaded, and begins to read its decisions.
func (g *group) load(settings *Settings) error {
	if g.program != nil {
		return nil
	}
	var err error
	if g.program, err = load(); err != nil {
		return err
	}
	if err = g.program.order(settings); err == nil {
		g.reader, err = ringbuf.NewReader(g.program.Maps["decisions"])
	}
	if err != nil {
		g.program.Close()
		g.program = nil
		return err
	}
	g.read = make(chan struct{})
	go g.pass()
	return nil
}

// counted returns what the program has counted.
func (g *group) counted() (counts, error) {
	if g.program == nil {
		return counts{}, nil
	}
	return counted(g.program.Maps["counts"])
}

func checkCgroup(path string) error {
	_, err := os.Stat(filepath.Join(path, "cgroup.controllers"))
	switch {
	case err == nil:
		return nil
	case !errors.Is(err, os.ErrNotExist) && !errors.Is(err, unix.ENOTDIR):
		return impossibly("%s: %v", path, reason(err))
	}
	mounts := cgroupMounts()
	if len(mounts) == 0 {
		return impossibly("no cgroup2 hierarchy is mounted; mount one: mount -t cgroup2 none FOLDER")
	}
	if _, err := os.Stat(path); err == nil {
		return impossibly("%s is not a folder of a cgroup2 hierarchy; one is at %s", path, mounts[0])
	}
	text := fmt.Sprintf("cgroup %s does not exist; start its service, or give --wait", path)
	return &problem{code: impossible, text: text, cause: os.ErrNotExist}
}

// pass passes on decisions until the reader is closed or flushed.
func (g *group) pass() {
	defer close(g.read)
	var record ringbuf.Record
	for g.reader.ReadInto(&record) == nil {
		g.note(record.RawSample)
	}
}

// attach attaches the program to the cgroup that now has the path.
func (g *group) attach(settings *Settings) error {
	folder, err := os.Open(g.path)
	if errors.Is(err, os.ErrNotExist) {
		return checkCgroup(g.path)
	}
	if err != nil {
		return impossibly("cgroup %s: %v", g.path, reason(err))
	}
	defer folder.Close()
	which, err := folder.Stat()
	if err != nil {
		return err
	}
	release, err := claim(folder)
	if err != nil {
		return err
	}
	if err = g.load(settings); err == nil {
		err = g.tellSysctls(settings)
	}
	if err == nil {
		g.link, err = g.program.attach(folder)
	}
	if err != nil {
		release()
		return err
	}
	g.attached, g.release = which, release
	return nil
}

// tryToAttach leaves the cgroup alone while another tuner is at work there.
func (g *group) tryToAttach(settings *Settings) error {
	err := g.attach(settings)
	if errors.Is(err, errTaken) {
		g.taken = err
		return nil
	}
	g.taken, g.told = nil, false
	return err
}

// follow attaches the program again if the cgroup was removed or made anew.
func (g *group) follow(settings *Settings) error {
	g.leave()
	there, err := os.Stat(g.path)
	if err != nil {
		there = nil
	}
	if g.attached != nil && (there == nil || !os.SameFile(there, g.attached)) {
		g.leaving = append(g.leaving, g.link)
		g.release()
		g.attached, g.link = nil, nil
		g.teller.warn("cgroup %s is gone; tuning continues when it exists again", g.path)
	}
	if there == nil {
		g.taken, g.told = nil, false
	}
	if g.attached != nil || there == nil {
		return nil
	}
	was := "exists"
	if g.taken != nil {
		was = "is free"
	}
	err = g.tryToAttach(settings)
	if again, _ := os.Stat(g.path); err != nil && (again == nil || !os.SameFile(again, there)) {
		return nil // it has gone meanwhile
	}
	if g.attached != nil {
		g.teller.say("cgroup %s %s; tuning it", g.path, was)
	}
	return err
}

// leave gives up attachments to removed cgroups that have no connections any more: the kernel has ended them.
func (g *group) leave() {
	left := g.leaving[:0]
	for _, each := range g.leaving {
		if info, err := each.Info(); err == nil && info.Cgroup() != nil && info.Cgroup().CgroupId != 0 {
			left = append(left, each)
		} else {
			each.Close()
		}
	}
	g.leaving = left
}

// tellSysctls writes the sysctls of the cgroup's network namespaces for the program, if they are limits.
func (g *group) tellSysctls(settings *Settings) error {
	if settings.Ceiling != 0 || g.program == nil {
		return nil
	}
	found, refused, err := sysctlsOf(processes(g.path))
	if err != nil {
		return err
	}
	if refused != nil && !g.refused {
		g.teller.warn("cgroup %s: it has processes in network namespaces whose tcp_notsent_lowat this user may not read "+
			"(%v), so connections there are not tuned; run with CAP_SYS_ADMIN and CAP_SYS_PTRACE, or give --ceiling BYTES",
			g.path, reason(refused))
	}
	g.refused = refused != nil
	for cookie, value := range found {
		if err := g.program.Maps["sysctls"].Put(cookie, value); err != nil {
			return err
		}
	}
	return nil
}

// tellUnlogged says how many decisions did not get into the log since the last call.
func (g *group) tellUnlogged(numbers *counts) {
	if more := numbers.Unlogged - g.unlogged; more > 0 {
		g.unlogged = numbers.Unlogged
		g.teller.warn("cgroup %s: %d decisions were counted but not logged, because they came too fast", g.path, more)
	}
}

// detach ends tuning; the decisions made so far are passed on.
func (g *group) detach() {
	for _, each := range append(g.leaving, g.link) {
		if each != nil {
			each.Close()
		}
	}
	g.leaving, g.link = nil, nil
	if g.program == nil {
		return
	}
	_ = g.reader.Flush()
	select {
	case <-g.read:
	case <-time.After(5 * time.Second):
	}
}

// close ends tuning and unloads the program.
func (g *group) close() {
	g.detach()
	if g.attached != nil {
		g.release()
		g.attached = nil
	}
	if g.program != nil {
		_ = g.reader.Close()
		g.program.Close()
		g.program = nil
	}
}
