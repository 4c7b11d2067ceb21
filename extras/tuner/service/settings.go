package main

import (
	"fmt"
	"maps"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	ceilingBytes = 64 << 20 // as maps.h says
	mostBytes    = 1<<31 - 1
	leastTarget  = time.Millisecond
	mostTarget   = 10 * time.Second
)

// Settings are what the operator may set, by options or in the configuration file. The zero value of a field means that
// it was not set.
type Settings struct {
	Cgroups       []string
	Ports         []uint16
	ExceptPorts   []uint16
	Clients       []netip.Prefix
	ExceptClients []netip.Prefix
	Share         float64 // in percent
	Target        time.Duration
	Floor         uint32
	Ceiling       uint32
	DryRun        bool
	Restore       bool
	Wait          bool
	Quiet         bool
	Log           string
	MetricsFile   string
	MetricsListen string
	ceilingAt     string // what stands before "ceiling" in an error: file and line, or the dashes of an option
}

func defaults() Settings {
	return Settings{Target: 50 * time.Millisecond, Floor: 4096, Share: 100, Restore: true}
}

// kind is how a value is written in the configuration file.
type kind int

const (
	text kind = iota
	number
	flag
	list
	numbers
)

func (k kind) String() string {
	return [...]string{"a text in double quotes", "a whole number", "true or false", `a list, such as ["A", "B"]`,
		"a whole number, or a list, such as [443, 8443]"}[k]
}

// entry is one setting. name: the option without its dashes; in the configuration file, dashes are underscores. set:
// returns false if the value is not allowed.
type entry struct {
	name, value, meaning, allowed string
	kind                          kind
	set                           func(*Settings, string) bool
}

// key returns the setting's name in the configuration file.
func (e entry) key() string {
	name := strings.ReplaceAll(e.name, "-", "_")
	if e.kind == list || e.name == "except-port" {
		return name + "s"
	}
	return name
}

var entries = []entry{
	{"cgroup", "PATH", "tune the connections that servers of this cgroup accept; may be given more than once",
		"absolute paths of folders of a cgroup2 hierarchy, none within another", list,
		func(s *Settings, given string) bool {
			clean := filepath.Clean(given)
			for _, other := range s.Cgroups {
				if within(clean, other) || within(other, clean) {
					return false
				}
			}
			s.Cgroups = append(s.Cgroups, clean)
			return filepath.IsAbs(given)
		}},
	{"port", "N", "tune only connections to this port of the server (default: any); may be given more than once",
		"1 to 65535", numbers, func(s *Settings, given string) bool { return addPort(given, &s.Ports) }},
	{"except-port", "N", "do not tune connections to this port; may be given more than once", "1 to 65535", numbers,
		func(s *Settings, given string) bool { return addPort(given, &s.ExceptPorts) }},
	{"client", "NETWORK", "tune only connections of clients in this network (default: any); may be given more than once",
		allowedNetwork, list, func(s *Settings, given string) bool { return addNetwork(given, &s.Clients) }},
	{"except-client", "NETWORK", "do not tune connections of clients in this network; may be given more than once",
		allowedNetwork, list, func(s *Settings, given string) bool { return addNetwork(given, &s.ExceptClients) }},
	{"share", "PERCENT", "tune only this share of the connections, chosen by the client's address and port (default: 100%)",
		"more than 0% and at most 100%, with the percent sign", text,
		func(s *Settings, given string) bool {
			digits, isPercent := strings.CutSuffix(given, "%")
			var err error
			s.Share, err = strconv.ParseFloat(digits, 64)
			return err == nil && isPercent && s.Share > 0 && s.Share <= 100
		}},
	{"target-delay", "TIME", "longest time that a byte should wait in the send queue (default: 50ms)",
		"a time from 1ms to 10s", text,
		func(s *Settings, given string) bool {
			var err error
			s.Target, err = time.ParseDuration(given)
			return err == nil && s.Target >= leastTarget && s.Target <= mostTarget
		}},
	{"floor", "BYTES", "lowest value to set (default: 4096)", fmt.Sprintf("1 to %d bytes", ceilingBytes), number,
		func(s *Settings, given string) bool { return parseBytes(given, ceilingBytes, &s.Floor) }},
	{"ceiling", "BYTES", "highest value to set (default: the sysctl tcp_notsent_lowat, at most 64 MiB)",
		fmt.Sprintf("1 to %d bytes", mostBytes), number,
		func(s *Settings, given string) bool { return parseBytes(given, mostBytes, &s.Ceiling) }},
	{"dry-run", "", "compute values, but set none", "true or false", flag,
		func(s *Settings, given string) bool { return parseFlag(given, &s.DryRun) }},
	{"restore", "", "at the end, give open connections the value that they had before the tuner (default; see --no-restore)",
		"true or false", flag,
		func(s *Settings, given string) bool { return parseFlag(given, &s.Restore) }},
	{"wait", "", "wait for cgroups that do not exist yet or that another tuner has, instead of ending with an error", "true or false", flag,
		func(s *Settings, given string) bool { return parseFlag(given, &s.Wait) }},
	{"quiet", "", "print no lines about connections", "true or false", flag,
		func(s *Settings, given string) bool { return parseFlag(given, &s.Quiet) }},
	{"log", "FILE", "append each decision to FILE, as a line of JSON", "a path", text,
		func(s *Settings, given string) bool { s.Log = given; return given != "" }},
	{"metrics-file", "FILE", "write metrics to FILE every 5 seconds, for a collector of text files", "a path", text,
		func(s *Settings, given string) bool { s.MetricsFile = given; return given != "" }},
	{"metrics-listen", "ADDRESS:PORT", "serve metrics by HTTP at this address of this machine",
		"a loopback address and a port, such as 127.0.0.1:9469", text,
		func(s *Settings, given string) bool {
			where, err := netip.ParseAddrPort(given)
			s.MetricsListen = given
			return err == nil && where.Addr().IsLoopback() && where.Port() != 0
		}},
}

const allowedNetwork = "an address, or a network without bits after its prefix, such as 10.0.0.0/8 or fd00::/8"

func addPort(given string, to *[]uint16) bool {
	n, err := strconv.ParseUint(given, 10, 16)
	*to = append(*to, uint16(n))
	return err == nil && n > 0
}

// addNetwork refuses a network that has bits set after its prefix: it could be meant for another one.
func addNetwork(given string, to *[]netip.Prefix) bool {
	network, err := netip.ParsePrefix(given)
	if err != nil {
		address, wrong := netip.ParseAddr(given)
		if wrong != nil || address.Zone() != "" {
			return false
		}
		network = netip.PrefixFrom(address, address.BitLen())
	}
	*to = append(*to, network)
	return network == network.Masked() && !network.Addr().Is4In6()
}

func parseBytes(given string, most uint64, into *uint32) bool {
	n, err := strconv.ParseUint(given, 10, 32)
	*into = uint32(n)
	return err == nil && n > 0 && n <= most
}

func parseFlag(given string, into *bool) bool {
	*into = given == "true"
	return *into || given == "false"
}

// within tells whether a path is the folder or lies in it.
func within(path, folder string) bool {
	rest, err := filepath.Rel(folder, path)
	return err == nil && rest != ".." && !strings.HasPrefix(rest, "../")
}

// refusal is the error for a value that is not allowed. where: the option, or the file, line and key.
func refusal(where, given, allowed string) error {
	return wrongly("%s=%s is not allowed; allowed: %s", where, given, allowed)
}

// check returns an error about values that are missing or do not fit together. file: the file to name, with a colon.
func (s *Settings) check(file string) error {
	switch {
	case len(s.Cgroups) == 0:
		return wrongly("%sno cgroup is named; give --cgroup PATH, or cgroups = [\"PATH\"] in the configuration file", file)
	case s.Ceiling != 0 && s.Ceiling < s.Floor:
		return refusal(s.ceilingAt+"ceiling", fmt.Sprint(s.Ceiling), fmt.Sprintf("%d (the floor) to %d bytes", s.Floor, mostBytes))
	case *s.portBits() == [1 << 13]byte{}:
		return wrongly("%sno port is left to tune: each is an exception, too", file)
	case !slices.Contains(slices.Collect(maps.Values(s.networks())), 1):
		return wrongly("%sno client is left to tune: each network is an exception, too", file)
	}
	return nil
}
