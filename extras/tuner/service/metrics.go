package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// gathered is what one program has counted.
type gathered struct {
	cgroup   string
	attached bool
	counts
}

type answered struct {
	all []gathered
	err error
}

// ask has the main loop gather the counts.
func (s *service) ask() ([]gathered, error) {
	reply := make(chan answered, 1)
	s.asked <- reply
	got := <-reply
	return got.all, got.err
}

func (s *service) gathered() ([]gathered, error) {
	all := []gathered{}
	for _, each := range s.groups {
		numbers, err := each.counted()
		if err != nil {
			return nil, err
		}
		all = append(all, gathered{each.path, each.attached != nil, numbers})
	}
	return all, nil
}

// family is a metric. values: returns its labels, without the cgroup, each with its number.
type family struct {
	name, kind, meaning string
	values              func(*gathered) []sample
}

type sample struct {
	labels string
	number float64
}

func one(number func(*gathered) uint64) func(*gathered) []sample {
	return func(from *gathered) []sample { return []sample{{"", float64(number(from))}} }
}

var families = []family{
	{"attached", "gauge", "1 if the program is attached to the cgroup, 0 while the cgroup does not exist.",
		one(func(g *gathered) uint64 { return uint64(bit(g.attached)) })},
	{"connections", "counter", "Connections that the program has seen.", one(func(g *gathered) uint64 { return g.Seen })},
	{"connections_open", "gauge", "Connections seen that are open now.",
		one(func(g *gathered) uint64 { return g.Seen - g.Closed })},
	{"connections_tuned", "counter", "Connections of which a value was set at least once.",
		one(func(g *gathered) uint64 { return g.Tuned })},
	{"decisions", "counter", "Values set, or in a dry run decided, by the rule that decided them.", decisions},
	{"refused", "counter", "System calls of the program that the kernel refused.",
		one(func(g *gathered) uint64 { return g.Refused })},
	{"forgotten", "counter", "Events of connections for which the kernel had no memory.",
		one(func(g *gathered) uint64 { return g.Forgotten })},
	{"unlogged", "counter", "Decisions that came too fast to be logged.",
		one(func(g *gathered) uint64 { return g.Unlogged })},
	{"lowat_bytes_bucket", "gauge", "Open connections whose value is at most le bytes.",
		func(g *gathered) []sample { return upTo(&g.Values, 10, 1) }},
	{"lowat_bytes_sum", "gauge", "Sum of the values of open connections.",
		func(g *gathered) []sample { return []sample{{"", float64(g.ValuesBytes)}} }},
	{"expected_wait_seconds_bucket", "gauge", "Open connections with a known rate whose bytes wait at most le seconds unsent.",
		func(g *gathered) []sample { return upTo(&g.Waits, 7, 1e-6) }},
	{"expected_wait_seconds_sum", "gauge", "Sum of these waits.",
		func(g *gathered) []sample { return []sample{{"", float64(g.WaitsUs) / 1e6}} }},
}

func decisions(from *gathered) []sample {
	all := []sample{}
	for at, number := range from.Decisions {
		all = append(all, sample{fmt.Sprintf(",why=%q", whys[at]), float64(number)})
	}
	return all
}

// upTo returns the numbers of connections up to each limit, from the limit of bucket `first` on. Connections without
// a value are in bucket 0 and are not counted. unit: the size of the unit in the buckets.
func upTo(of *[buckets]int64, first int, unit float64) []sample {
	all, sum := []sample{}, int64(0)
	for at := 1; at < buckets; at++ {
		sum += of[at]
		if at >= first {
			all = append(all, sample{fmt.Sprintf(",le=\"%g\"", float64(int64(1)<<at-1)*unit), float64(sum)})
		}
	}
	return append(all, sample{`,le="+Inf"`, float64(sum)})
}

// expose returns the metrics as text: in the format of Prometheus or, with open, of OpenMetrics.
func expose(from []gathered, open bool) string {
	var text strings.Builder
	fmt.Fprintf(&text, "# HELP priority_tuner_build Always 1.\n# TYPE priority_tuner_build gauge\n"+
		"priority_tuner_build{version=%q} 1\n", version)
	for _, each := range families {
		name := "priority_tuner_" + each.name
		sampled, declared := name, name
		if each.kind == "counter" {
			sampled += "_total"
		}
		if !open {
			declared = sampled
		}
		fmt.Fprintf(&text, "# HELP %s %s\n# TYPE %s %s\n", declared, each.meaning, declared, each.kind)
		for at := range from {
			for _, one := range each.values(&from[at]) {
				fmt.Fprintf(&text, "%s{cgroup=\"%s\"%s} %.17g\n", sampled, label(from[at].cgroup), one.labels, one.number)
			}
		}
	}
	if open {
		text.WriteString("# EOF\n")
	}
	return text.String()
}

func label(text string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(text)
}

// writeMetrics writes the metrics into a file, which is complete whenever it is read.
func (s *service) writeMetrics() {
	err := func() error {
		all, err := s.gathered()
		if err != nil {
			return err
		}
		file, err := os.CreateTemp(filepath.Dir(s.MetricsFile), ".priority-tuner-")
		if err != nil {
			return err
		}
		defer os.Remove(file.Name())
		if _, err = file.WriteString(expose(all, false)); err == nil {
			err = file.Chmod(0o644)
		}
		if closing := file.Close(); err == nil {
			err = closing
		}
		if err != nil {
			return err
		}
		return os.Rename(file.Name(), s.MetricsFile)
	}()
	if err != nil && !s.unwritten {
		s.teller.warn("%s cannot be written: %v; tuning continues", s.MetricsFile, reason(err))
	}
	s.unwritten = err != nil
}

// endpoint serves metrics by HTTP: one request for each connection. It is not net/http, which would double the program,
// and knows more than a process with these rights should listen for.
type endpoint struct{ socket net.Listener }

// listen serves metrics at an address; at an empty one, it does nothing.
func listen(address string, gather func() ([]gathered, error)) (*endpoint, error) {
	if address == "" {
		return nil, nil
	}
	socket, err := net.Listen("tcp", address)
	if err != nil {
		return nil, impossibly("metrics cannot be served at %s: %v", address, reason(err))
	}
	go func() {
		for {
			asking, err := socket.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err == nil {
				answer(asking, gather)
			}
		}
	}()
	return &endpoint{socket}, nil
}

// answer answers one request, within two seconds.
func answer(asking net.Conn, gather func() ([]gathered, error)) {
	defer asking.Close()
	_ = asking.SetDeadline(time.Now().Add(2 * time.Second))
	request := textproto.NewReader(bufio.NewReader(io.LimitReader(asking, 1<<14)))
	line, err := request.ReadLine()
	if err != nil {
		return
	}
	headers, err := request.ReadMIMEHeader()
	if err != nil {
		return
	}
	open := strings.Contains(headers.Get("Accept"), "application/openmetrics-text")
	code, kind, body := "200 OK", "text/plain; version=0.0.4", ""
	if words := strings.Fields(line); len(words) != 3 || words[0] != "GET" || words[1] != "/metrics" {
		code, kind, body = "404 Not Found", "text/plain", "GET /metrics\n"
	} else if all, err := gather(); err != nil {
		code, kind, body = "500 Internal Server Error", "text/plain", err.Error()+"\n"
	} else {
		body = expose(all, open)
		if open {
			kind = "application/openmetrics-text; version=1.0.0"
		}
	}
	fmt.Fprintf(asking, "HTTP/1.1 %s\r\nContent-Type: %s; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		code, kind, len(body), body)
}

func (e *endpoint) close() {
	if e != nil {
		_ = e.socket.Close()
	}
}
