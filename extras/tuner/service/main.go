// Priority-tuner sets TCP_NOTSENT_LOWAT of each connection that the servers of a cgroup accept, by a program in the
// kernel. This process loads the program, keeps it attached, tells it the sysctls of network namespaces, and reports.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Exit codes. After 1 a service manager may start the program again; after 2 and 3 somebody must change something.
const (
	failed     = 1 // tuning ended because of an error
	wrong      = 2 // a wrong option, or a wrong configuration
	impossible = 3 // this machine, this user or this cgroup cannot be tuned now
)

var version = "0.0" // make tuner sets it

// problem is an error with its exit code. Its text is one line for the operator.
type problem struct {
	code  int
	text  string
	cause error
}

func (p *problem) Error() string { return p.text }
func (p *problem) Unwrap() error { return p.cause }

func wrongly(form string, values ...any) error {
	return &problem{code: wrong, text: fmt.Sprintf(form, values...)}
}

func impossibly(form string, values ...any) error {
	return &problem{code: impossible, text: fmt.Sprintf(form, values...)}
}

// reason returns an error's last cause, without the system call and the path.
func reason(err error) error {
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	return err
}

func main() {
	err := command(os.Args[1:])
	if err == nil {
		return
	}
	if err.Error() != "" {
		complain("%v", err)
	}
	code := failed
	if known := new(problem); errors.As(err, &known) {
		code = known.code
	}
	os.Exit(code)
}

func command(words []string) error {
	if len(words) == 0 {
		return wrongly("no command is given; the commands are run, status and check-config; see --help")
	}
	switch words[0] {
	case "run":
		return parseAndRun(words[1:])
	case "status":
		return status(words[1:])
	case "check-config":
		return checkConfig(words[1:])
	case "--version":
		fmt.Printf("priority-tuner %s\n", version)
	case "--help", "-h", "help":
		fmt.Print(help())
	default:
		if strings.HasPrefix(words[0], "--") {
			return parseAndRun(words)
		}
		return wrongly("%s is not a command; the commands are run, status and check-config", words[0])
	}
	return nil
}

func parseAndRun(words []string) error {
	order, err := parseRun(words)
	if err != nil || order == nil {
		return err
	}
	return run(order)
}

// order is what `run` is asked for. words: the options, which go before the configuration file, now and after SIGHUP.
type order struct {
	config string
	words  []string
	Settings
}

// parseRun returns nil without an error if only help was asked for.
func parseRun(words []string) (*order, error) {
	made := &order{words: words}
	given, err := options(words)
	if err != nil {
		return nil, err
	}
	for _, each := range given {
		switch each.name {
		case "help":
			fmt.Print(help())
			return nil, nil
		case "config":
			if made.config, err = filepath.Abs(each.value); err != nil {
				return nil, err
			}
		}
	}
	return made, made.read()
}

// read reads the settings anew: the configuration file, and then the options.
func (o *order) read() error {
	settings := defaults()
	if o.config != "" {
		if err := readConfig(o.config, &settings); err != nil {
			return err
		}
	}
	if err := setOptions(o.words, &settings); err != nil {
		return err
	}
	if err := settings.check(""); err != nil {
		return err
	}
	o.Settings = settings
	return nil
}

func setOptions(words []string, into *Settings) error {
	given, err := options(words)
	if err != nil {
		return err
	}
	file := *into // lists of the command line take the place of those in the file
	into.Cgroups, into.Ports, into.ExceptPorts, into.Clients, into.ExceptClients = nil, nil, nil, nil, nil
	for _, each := range given {
		if each.name == "ceiling" {
			into.ceilingAt = "--"
		}
		if each.set != nil && !each.set(into, each.value) {
			return refusal("--"+each.name, each.value, each.allowed)
		}
	}
	into.Cgroups = either(into.Cgroups, file.Cgroups)
	into.Ports, into.ExceptPorts = either(into.Ports, file.Ports), either(into.ExceptPorts, file.ExceptPorts)
	into.Clients = either(into.Clients, file.Clients)
	into.ExceptClients = either(into.ExceptClients, file.ExceptClients)
	return nil
}

func either[T any](given, otherwise []T) []T {
	if given == nil {
		return otherwise
	}
	return given
}

type option struct {
	entry
	value string
}

// options returns the options among the words, each with its value. --NAME VALUE and --NAME=VALUE are the same. --no-NAME
// is a flag's value false.
func options(words []string) ([]option, error) {
	known := append([]entry{{name: "config", value: "FILE"}, {name: "help", kind: flag}}, entries...)
	found := []option{}
	for at := 0; at < len(words); at++ {
		name, value, has := strings.Cut(strings.TrimPrefix(words[at], "--"), "=")
		one := option{value: value}
		flagOff, isOff := strings.CutPrefix(name, "no-")
		for _, each := range known {
			if isOff && each.kind == flag && each.name == flagOff {
				name = flagOff
				one.value = "false"
			}
			if "--"+name == "--"+each.name && strings.HasPrefix(words[at], "--") {
				one.entry = each
			}
		}
		switch {
		case one.name == "":
			return nil, wrongly("%s is not an option; see priority-tuner --help", words[at])
		case one.kind == flag && has:
			return nil, wrongly("--%s takes no value", name)
		case one.kind == flag && one.value == "":
			one.value = "true"
		case one.kind == flag:
		case !has && at+1 == len(words):
			return nil, wrongly("--%s needs a value: --%s %s", name, name, one.entry.value)
		case !has:
			at++
			one.value = words[at]
		}
		found = append(found, one)
	}
	return found, nil
}

func checkConfig(words []string) error {
	if len(words) != 1 {
		return wrongly("name one file: priority-tuner check-config FILE")
	}
	settings := defaults()
	if about, err := os.Stat(words[0]); err == nil && !about.Mode().IsRegular() {
		return wrongly("%s is not a file", words[0])
	}
	if err := readConfig(words[0], &settings); err != nil {
		return err
	}
	if err := settings.check(words[0] + ": "); err != nil {
		return err
	}
	fmt.Printf("%s: no errors; cgroups: %s\n", words[0], strings.Join(settings.Cgroups, ", "))
	return nil
}

func help() string {
	text := `usage: priority-tuner [run] [--config FILE] [OPTION...]
       priority-tuner status [--json]
       priority-tuner check-config FILE
       priority-tuner --version | --help

run tunes TCP_NOTSENT_LOWAT of the connections that the servers of cgroups accept, until SIGTERM or SIGINT.
status shows what the tuners of this machine do; its exit code is 3 if there is none. check-config checks a configuration
file.

options of run; each is also a key of the configuration file, with _ for - (cgroups = ["PATH", ...], clients,
except_ports and except_clients are lists; --no-NAME is NAME = false):
  --config FILE                    read settings from FILE; options have precedence; SIGHUP reads FILE again
`
	for _, each := range entries {
		text += fmt.Sprintf("  %-32s %s\n", strings.TrimSpace("--"+each.name+" "+each.value), each.meaning)
	}
	return text
}
