package main

import (
	"errors"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestConfiguration(t *testing.T) {
	text := "\ufeff" + `# a comment
cgroups = [ # one
    "/a/b#c",
    "/d/",
]
target_delay = "20ms" # a comment
port = [443, 8_443]
except_ports = 80
clients = ["10.0.0.0/8", "fd00::1"]
share = "2.5%"
ceiling = 1_000_000
wait = true
`
	got := defaults()
	if err := parseConfig("f", text, &got); err != nil {
		t.Fatal(err)
	}
	want := Settings{Cgroups: []string{"/a/b#c", "/d"}, Target: 20 * time.Millisecond, Floor: 4096, Ports: []uint16{443, 8443},
		ExceptPorts: []uint16{80}, Share: 2.5, Restore: true,
		Clients: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::1/128")},
		Ceiling: 1000000, ceilingAt: "f, line 11: ", Wait: true}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestWrongConfiguration(t *testing.T) {
	for text, want := range map[string]string{
		"\nport = 70000":                 "f, line 2: port=70000 is not allowed; allowed: 1 to 65535",
		"port = \"443\"":                 "f, line 1: port=\"443\" is not allowed; allowed: a whole number, or a list, such as [443, 8443]",
		"port = [1, 0]":                  "f, line 1: port=0 is not allowed; allowed: 1 to 65535",
		"port = [1":                      "f, line 1: port=[1 is not allowed; allowed: a whole number, or a list, such as [443, 8443]",
		"floor = [1]":                    "f, line 1: floor=[1] is not allowed; allowed: a whole number",
		"share = \"0%\"":                 "f, line 1: share=0% is not allowed; allowed: more than 0% and at most 100%, with the percent sign",
		"share = \"5\"":                  "f, line 1: share=5 is not allowed; allowed: more than 0% and at most 100%, with the percent sign",
		"clients = [\"10.0.0.1/8\"]":     "f, line 1: clients=10.0.0.1/8 is not allowed; allowed: " + allowedNetwork,
		"except_clients = [\"host\"]":    "f, line 1: except_clients=host is not allowed; allowed: " + allowedNetwork,
		"quiet = yes":                    "f, line 1: quiet=yes is not allowed; allowed: true or false",
		"target_delay = 50":              "f, line 1: target_delay=50 is not allowed; allowed: a text in double quotes",
		"target_delay = \"11s\"":         "f, line 1: target_delay=11s is not allowed; allowed: a time from 1ms to 10s",
		"floor = 0":                      "f, line 1: floor=0 is not allowed; allowed: 1 to 67108864 bytes",
		"ceiling = 2147483648":           "f, line 1: ceiling=2147483648 is not allowed; allowed: 1 to 2147483647 bytes",
		"cgroups = [\"a\"]":              "f, line 1: cgroups=a is not allowed; allowed: absolute paths of folders of a cgroup2 hierarchy, none within another",
		"cgroups = [\"/a\", \"/a/b\"]":   "f, line 1: cgroups=/a/b is not allowed; allowed: absolute paths of folders of a cgroup2 hierarchy, none within another",
		"cgroups = \"/a\"":               "f, line 1: cgroups=\"/a\" is not allowed; allowed: a list, such as [\"A\", \"B\"]",
		"cgroups = [\"/a\"":              "f, line 1: cgroups=[\"/a\" is not allowed; allowed: a list, such as [\"A\", \"B\"]",
		"log = \"\"":                     "f, line 1: log= is not allowed; allowed: a path",
		"log = \"a\\\"b\"":               "f, line 1: log=\"a\\\"b\" is not allowed; allowed: a text in double quotes",
		"metrics_listen = \"0.0.0.0:1\"": "f, line 1: metrics_listen=0.0.0.0:1 is not allowed; allowed: a loopback address and a port, such as 127.0.0.1:9469",
		"metrics_listen = \"[::1]:0\"":   "f, line 1: metrics_listen=[::1]:0 is not allowed; allowed: a loopback address and a port, such as 127.0.0.1:9469",
		"hello":                          "f, line 1: \"hello\" is not a setting; write KEY = VALUE",
		"port = 1\nport = 2":             "f, line 2: port is already set in line 1",
		"x = 1": "f, line 1: x is not a setting; the settings are cgroups, port, except_ports, clients, " +
			"except_clients, share, target_delay, floor, ceiling, dry_run, restore, wait, quiet, log, metrics_file, metrics_listen",
	} {
		settings := defaults()
		err := parseConfig("f", text, &settings)
		if known := new(problem); !errors.As(err, &known) || known.code != wrong || err.Error() != want {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

func TestCeilingBelowFloor(t *testing.T) {
	settings := defaults()
	if err := parseConfig("f", "cgroups = [\"/a\"]\nceiling = 5000\nfloor = 6000\n", &settings); err != nil {
		t.Fatal(err)
	}
	want := "f, line 2: ceiling=5000 is not allowed; allowed: 6000 (the floor) to 2147483647 bytes"
	if err := settings.check("f: "); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestNothingLeftToTune(t *testing.T) {
	for text, want := range map[string]string{
		"port = [1, 2]\nexcept_ports = [2, 1, 3]":                           "port",
		"clients = [\"fd00::1\"]\nexcept_clients = [\"fd00::/8\"]":          "client",
		"clients = [\"10.0.0.0/8\"]\nexcept_clients = [\"10.0.0.0/8\"]":     "client",
		"clients = [\"10.0.0.0/8\"]\nexcept_clients = [\"10.0.0.0/9\"]":     "",
		"port = [1, 2]\nexcept_ports = 1\nexcept_clients = [\"0.0.0.0/0\"]": "",
	} {
		settings := defaults()
		if err := parseConfig("f", "cgroups = [\"/a\"]\n"+text, &settings); err != nil {
			t.Fatal(err)
		}
		err := settings.check("f: ")
		if (want == "") != (err == nil) || err != nil && !strings.HasPrefix(err.Error(), "f: no "+want+" is left to tune: each ") {
			t.Errorf("%q: got %v", text, err)
		}
	}
}

func TestOptions(t *testing.T) {
	got, err := parseRun([]string{"--cgroup", "/a", "--cgroup=/b", "--port", "1", "--dry-run"})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got.Cgroups, []string{"/a", "/b"}) || !reflect.DeepEqual(got.Ports, []uint16{1}) || !got.DryRun || !got.Restore {
		t.Errorf("got %+v", got.Settings)
	}
}

func TestFlagsThatAreOff(t *testing.T) {
	got, err := parseRun([]string{"--cgroup=/a", "--no-restore"})
	if err != nil || got.Restore {
		t.Errorf("got %+v, %v", got, err)
	}
}

// The longest prefix decides, and an exception also for a client's network within it.
func TestNetworks(t *testing.T) {
	settings := defaults()
	text := "clients = [\"10.0.0.0/8\", \"192.168.1.0/24\"]\nexcept_clients = [\"10.1.0.0/16\", \"192.168.0.0/16\"]\n"
	if err := parseConfig("f", text, &settings); err != nil {
		t.Fatal(err)
	}
	got := map[string]uint32{}
	for each, tuned := range settings.networks() {
		if each.Bits > 0 {
			got[each.String()] = tuned
		} else if tuned != 0 {
			t.Error("clients outside the networks are tuned")
		}
	}
	want := map[string]uint32{"10.0.0.0/8": 1, "192.168.1.0/24": 0, "10.1.0.0/16": 0, "192.168.0.0/16": 0}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestPorts(t *testing.T) {
	for port, want := range map[uint16]bool{443: true, 8443: false, 80: false} {
		settings := Settings{Ports: []uint16{443, 8443}, ExceptPorts: []uint16{8443}}
		if got := settings.portBits()[port>>3]>>(port&7)&1 == 1; got != want {
			t.Errorf("port %d: got %v", port, got)
		}
	}
}

func TestWrongOptions(t *testing.T) {
	for want, words := range map[string][]string{
		"--port=x is not allowed; allowed: 1 to 65535":                                              {"--port=x"},
		"--port needs a value: --port N":                                                            {"--port"},
		"--no-port is not an option; see priority-tuner --help":                                     {"--no-port", "1"},
		"--quiet takes no value":                                                                    {"--quiet=true"},
		"-x is not an option; see priority-tuner --help":                                            {"-x"},
		"cgroup is not an option; see priority-tuner --help":                                        {"cgroup"},
		"no cgroup is named; give --cgroup PATH, or cgroups = [\"PATH\"] in the configuration file": {},
		"--ceiling=5 is not allowed; allowed: 9 (the floor) to 2147483647 bytes":                    {"--cgroup=/a", "--floor=9", "--ceiling=5"},
	} {
		if _, err := parseRun(words); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
