package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// state is what one program in the kernel does. The kernel is asked, not the process that loaded the program.
type state struct {
	Cgroup    string            `json:"cgroup"` // empty while there is no cgroup
	Program   uint32            `json:"program_id"`
	Settings  map[string]any    `json:"settings"`
	Open      uint64            `json:"connections_open"`
	Seen      uint64            `json:"connections_seen"`
	Tuned     uint64            `json:"connections_tuned"`
	Decided   map[string]uint64 `json:"decisions"`
	Refused   uint64            `json:"refused"`
	Forgotten uint64            `json:"forgotten"`
	Unlogged  uint64            `json:"unlogged"`
	Values    []bar             `json:"lowat_bytes"`
	Waits     []bar             `json:"expected_wait_us"`
}

// bar is a part of a histogram: connections with a number from `from` to `to`.
type bar struct {
	From        int64 `json:"from"`
	To          int64 `json:"to"`
	Connections int64 `json:"connections"`
}

func status(words []string) error {
	asJSON := len(words) == 1 && words[0] == "--json"
	if len(words) > 0 && !asJSON {
		return wrongly("status takes one option, --json")
	}
	states, err := states()
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		return impossibly("this user may not ask the kernel for its programs: run as root, or with CAP_SYS_ADMIN")
	}
	if err != nil {
		return impossibly("the kernel does not tell its programs: %v", reason(err))
	}
	if asJSON {
		return json.NewEncoder(os.Stdout).Encode(states)
	}
	if len(states) == 0 {
		fmt.Println("no tuner is at work on this machine")
	}
	for at := range states {
		states[at].print()
	}
	return nil
}

// states finds the tuner's programs in the kernel.
func states() ([]state, error) {
	cgroups, err := attachments()
	if err != nil {
		return nil, err
	}
	found := []state{}
	for id, err := ebpf.ProgramGetNextID(0); ; id, err = ebpf.ProgramGetNextID(id) {
		if errors.Is(err, os.ErrNotExist) {
			return found, nil
		}
		if err != nil {
			return nil, err
		}
		one, err := stateOf(id)
		if err != nil {
			return nil, err
		}
		if one != nil {
			one.Cgroup = strings.Join(cgroups[id], ", ")
			found = append(found, *one)
		}
	}
}

// attachments returns the folders of the cgroups to which each program is attached.
func attachments() (map[ebpf.ProgramID][]string, error) {
	found, folders := map[ebpf.ProgramID][]string{}, map[uint64]string(nil)
	links := link.Iterator{}
	defer links.Close()
	for links.Next() {
		info, err := links.Link.Info()
		if err != nil || info.Cgroup() == nil {
			continue
		}
		if folders == nil {
			folders = cgroupFolders()
		}
		if id := info.Cgroup().CgroupId; id != 0 { // 0: the cgroup was removed
			path, known := folders[id]
			if !known {
				path = fmt.Sprintf("%d, which is not visible here", id)
			}
			found[info.Program] = append(found[info.Program], path)
		}
	}
	return found, links.Err()
}

// stateOf returns nil if the program is none of this tuner's, or has gone.
func stateOf(id ebpf.ProgramID) (*state, error) {
	loaded, err := ebpf.NewProgramFromID(id)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer loaded.Close()
	info, err := loaded.Info()
	if err != nil || info.Name != programName || info.Type != ebpf.SockOps {
		return nil, err
	}
	maps, _ := info.MapIDs()
	var ordered rule
	var numbers counts
	known := 0
	for _, each := range maps {
		one, err := ebpf.NewMapFromID(each)
		if err != nil {
			continue
		}
		size := uintptr(one.ValueSize())
		switch about, _ := one.Info(); {
		case about != nil && about.Name == "rules" && size == unsafe.Sizeof(ordered):
			known++
			err = one.Lookup(uint32(0), &ordered)
		case about != nil && about.Name == "counts" && size == unsafe.Sizeof(numbers):
			known++
			numbers, err = counted(one)
		}
		one.Close()
		if err != nil {
			return nil, err
		}
	}
	if known != 2 {
		return nil, nil // another program of this name, or another version of this one
	}
	return stateFrom(uint32(id), &ordered, &numbers), nil
}

func stateFrom(id uint32, ordered *rule, numbers *counts) *state {
	made := &state{
		Program: id, Open: numbers.Seen - numbers.Closed, Seen: numbers.Seen, Tuned: numbers.Tuned, Refused: numbers.Refused,
		Forgotten: numbers.Forgotten, Unlogged: numbers.Unlogged, Decided: map[string]uint64{},
		Values: bars(&numbers.Values), Waits: bars(&numbers.Waits),
		Settings: map[string]any{
			"target_delay": (time.Duration(ordered.TargetUs) * time.Microsecond).String(), "floor": ordered.Floor,
			"ceiling": ordered.Ceiling, "port": ordered.Port, "dry_run": ordered.DryRun != 0,
			"keeps_sysctl": ordered.KnownOnly != 0,
		},
	}
	for at, number := range numbers.Decisions {
		made.Decided[whys[at]] = number
	}
	return made
}

func bars(of *[buckets]int64) []bar {
	all := []bar{}
	for at, number := range of {
		if number != 0 {
			all = append(all, bar{int64(1) << at >> 1, int64(1)<<at - 1, number})
		}
	}
	return all
}

func (s *state) print() {
	where := s.Cgroup
	if where == "" {
		where = "was removed; the tuner waits until it is made anew"
	}
	fmt.Printf("cgroup %s\n  connections: %d open; %d seen, %d of them tuned\n", where, s.Open, s.Seen, s.Tuned)
	fmt.Printf("  settings: target delay %v, floor %v, ceiling %v bytes", s.Settings["target_delay"], s.Settings["floor"],
		s.Settings["ceiling"])
	for _, each := range []struct{ key, text string }{{"keeps_sysctl", " or the sysctl"}, {"dry_run", ", dry run"}} {
		if s.Settings[each.key] == true {
			fmt.Print(each.text)
		}
	}
	if s.Settings["port"] != uint32(0) {
		fmt.Printf(", port %v", s.Settings["port"])
	}
	sum, parts := uint64(0), []string{}
	for why, number := range s.Decided {
		sum += number
		if number > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", why, number))
		}
	}
	sort.Strings(parts)
	fmt.Printf("\n  decisions: %d", sum)
	if sum > 0 {
		fmt.Printf(" (%s)", strings.Join(parts, ", "))
	}
	fmt.Printf("; refused %d, no memory for %d, not logged %d\n", s.Refused, s.Forgotten, s.Unlogged)
	draw("value in bytes", "none set", s.Values, func(n int64) string { return fmt.Sprint(n) })
	draw("expected wait", "unknown", s.Waits, func(n int64) string {
		return (time.Duration(n) * time.Microsecond).Round(10 * time.Microsecond).String()
	})
}

// draw prints a histogram. none: the name of the bar of 0.
func draw(title, none string, bars []bar, text func(int64) string) {
	most := int64(1)
	for _, each := range bars {
		most = max(most, each.Connections)
	}
	if len(bars) > 0 {
		fmt.Printf("  %-24s connections\n", title)
	}
	for _, each := range bars {
		name := none
		if each.To != 0 {
			name = text(each.From) + " to " + text(each.To)
		}
		stars := strings.Repeat("#", int(max(0, each.Connections)*40/most))
		fmt.Printf("  %-24s %11d %s\n", name, each.Connections, stars)
	}
}

// cgroupMounts returns the folders on which cgroup2 hierarchies are mounted.
func cgroupMounts() []string {
	content, _ := os.ReadFile("/proc/self/mountinfo")
	found := []string{}
	for _, line := range strings.Split(string(content), "\n") {
		before, after, _ := strings.Cut(line, " - ")
		if fields := strings.Fields(before); strings.HasPrefix(after, "cgroup2 ") && len(fields) > 4 {
			found = append(found, strings.ReplaceAll(fields[4], `\040`, " "))
		}
	}
	return found
}

// cgroupFolders returns the folders of all cgroups by their ids, which are the folders' inodes.
func cgroupFolders() map[uint64]string {
	found := map[uint64]string{}
	for _, mount := range cgroupMounts() {
		_ = filepath.WalkDir(mount, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.IsDir() {
				return nil
			}
			if info, err := entry.Info(); err == nil {
				id := info.Sys().(*syscall.Stat_t).Ino
				if _, known := found[id]; !known {
					found[id] = path
				}
			}
			return nil
		})
	}
	return found
}
