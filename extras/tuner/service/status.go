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

	ValuePercentiles map[string]int64 `json:"lowat_bytes_percentiles"`
	WaitPercentiles  map[string]int64 `json:"expected_wait_us_percentiles"`
}

var percents = []int64{50, 90, 99}

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
		err = json.NewEncoder(os.Stdout).Encode(states)
	} else if len(states) == 0 {
		fmt.Println("no tuner is at work on this machine")
	}
	for at := range states {
		if !asJSON {
			states[at].print()
		}
	}
	if len(states) == 0 && err == nil {
		return &problem{code: impossible} // it has been said
	}
	return err
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
	var ports [1 << 13]byte
	only, except := []string{}, []string{}
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
		case about != nil && about.Name == "ports" && size == unsafe.Sizeof(ports):
			err = one.Lookup(uint32(0), &ports)
		case about != nil && about.Name == "clients" && one.KeySize() == uint32(unsafe.Sizeof(network{})):
			only, except, err = networksIn(one)
		}
		one.Close()
		if err != nil {
			return nil, err
		}
	}
	if known != 2 {
		return nil, nil // another program of this name, or another version of this one
	}
	made := stateFrom(uint32(id), &ordered, &numbers)
	if ordered.PicksPorts != 0 {
		made.addPorts(&ports)
	}
	if ordered.PicksClients != 0 {
		made.Settings["clients"], made.Settings["except_clients"] = only, except
	}
	return made, nil
}

// networksIn returns the networks whose clients are tuned, and those whose are not; the network of all is not named.
func networksIn(clients *ebpf.Map) (only, except []string, err error) {
	var one network
	var tuned uint32
	only, except = []string{}, []string{}
	all := clients.Iterate()
	for all.Next(&one, &tuned) {
		to := &except
		if tuned != 0 {
			to = &only
		}
		if one.Bits > 0 {
			*to = append(*to, one.String())
		}
	}
	sort.Strings(only)
	sort.Strings(except)
	return only, except, all.Err()
}

// addPorts names the ports that are tuned or, if these are fewer, those that are not.
func (s *state) addPorts(bits *[1 << 13]byte) {
	lists := [2][]int{{}, {}}
	for port := 1; port < 1<<16; port++ {
		tuned := bits[port>>3] >> (port & 7) & 1
		lists[tuned] = append(lists[tuned], port)
	}
	if len(lists[0]) < len(lists[1]) {
		s.Settings["except_ports"] = lists[0]
		return
	}
	s.Settings["ports"] = lists[1]
	if len(lists[1]) == 1 {
		s.Settings["port"] = lists[1][0]
	}
}

func stateFrom(id uint32, ordered *rule, numbers *counts) *state {
	made := &state{
		Program: id, Open: numbers.Seen - numbers.Closed, Seen: numbers.Seen, Tuned: numbers.Tuned, Refused: numbers.Refused,
		Forgotten: numbers.Forgotten, Unlogged: numbers.Unlogged, Decided: map[string]uint64{},
		Values: bars(&numbers.Values), Waits: bars(&numbers.Waits),
		ValuePercentiles: percentiles(&numbers.Values), WaitPercentiles: percentiles(&numbers.Waits),
		Settings: map[string]any{
			"target_delay": (time.Duration(ordered.TargetUs) * time.Microsecond).String(), "floor": ordered.Floor,
			"ceiling": ordered.Ceiling, "port": 0, "dry_run": ordered.DryRun != 0,
			"keeps_sysctl": ordered.KnownOnly != 0, "share": fmt.Sprintf("%.4g%%", float64(ordered.Share)/wholeShare*100),
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

// percentiles returns, by percent, a number that so many of the connections do not exceed; in a bar, numbers are taken to
// lie evenly. Connections without a number do not count; if no others are open, the map is empty.
func percentiles(of *[buckets]int64) map[string]int64 {
	found, total := map[string]int64{}, int64(0)
	for _, number := range of[1:] {
		total += number
	}
	for _, percent := range percents {
		rest := (total*percent + 99) / 100
		for at := 1; at < buckets && rest > 0; at++ {
			if rest <= of[at] {
				width := int64(1) << at >> 1
				found[fmt.Sprint(percent)] = width - 1 + (width*rest+of[at]-1)/of[at]
			}
			rest -= of[at]
		}
	}
	return found
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
	for _, each := range []string{"ports", "except_ports", "clients", "except_clients"} {
		if list := fmt.Sprint(s.Settings[each]); s.Settings[each] != nil && list != "[]" {
			fmt.Printf(", %s %s", strings.ReplaceAll(each, "_", " "), strings.Trim(list, "[]"))
		}
	}
	if share := s.Settings["share"]; share != "100%" {
		fmt.Printf(", share %v", share)
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
	bytes := func(n int64) string { return fmt.Sprint(n) }
	wait := func(n int64) string {
		return (time.Duration(n) * time.Microsecond).Round(10 * time.Microsecond).String()
	}
	draw("value in bytes", "none set", s.Values, bytes)
	drawPercentiles(s.ValuePercentiles, bytes)
	draw("expected wait", "unknown", s.Waits, wait)
	drawPercentiles(s.WaitPercentiles, wait)
}

func drawPercentiles(of map[string]int64, text func(int64) string) {
	parts := []string{}
	for _, percent := range percents {
		if number, known := of[fmt.Sprint(percent)]; known {
			parts = append(parts, fmt.Sprintf("%d%% at most %s", percent, text(number)))
		}
	}
	if len(parts) > 0 {
		fmt.Printf("  percentiles, about: %s\n", strings.Join(parts, ", "))
	}
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
