package main

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"github.com/cilium/ebpf"
)

// The structures have the sizes that the program has.
func TestLayout(t *testing.T) {
	spec, err := ebpf.LoadCollectionSpecFromReader(strings.NewReader(string(object)))
	if err != nil {
		t.Fatal(err)
	}
	for name, size := range map[string]uintptr{
		"rules": unsafe.Sizeof(rule{}), "counts": unsafe.Sizeof(counts{}), "connections": unsafe.Sizeof(connection{}),
		"ports": 1 << 13,
	} {
		if got := spec.Maps[name].ValueSize; uintptr(got) != size {
			t.Errorf("%s: the program has %d bytes, this process %d", name, got, size)
		}
	}
	if spec.Programs[programName] == nil {
		t.Errorf("there is no program %s", programName)
	}
}

func TestHistogram(t *testing.T) {
	of := [buckets]int64{0: 7, 3: 1, 11: 2, 31: 3}
	got := upTo(&of, 10, 1)
	first, second, last := got[0], got[1], got[len(got)-1]
	if first != (sample{`,le="1023"`, 1}) || second != (sample{`,le="2047"`, 3}) || last != (sample{`,le="+Inf"`, 6}) {
		t.Errorf("got %v", got)
	}
	if all := bars(&of); len(all) != 4 || all[0] != (bar{0, 0, 7}) || all[1] != (bar{4, 7, 1}) {
		t.Errorf("got %v", all)
	}
}

// Each family is declared once, before its samples, and its name is that of the format.
func TestExposition(t *testing.T) {
	one := gathered{cgroup: `/a"b`, attached: true}
	one.Seen, one.Closed = 5, 2
	for open, want := range map[bool][]string{
		true:  {"# TYPE priority_tuner_connections counter\n", "# EOF\n"},
		false: {"# TYPE priority_tuner_connections_total counter\n"},
	} {
		text := expose([]gathered{one}, open)
		want = append(want, `priority_tuner_connections_total{cgroup="/a\"b"} 5`, `priority_tuner_connections_open{cgroup="/a\"b"} 3`)
		for _, each := range want {
			if strings.Count(text, each) != 1 {
				t.Errorf("%q is not once in\n%s", each, text)
			}
		}
		if strings.HasSuffix(text, "# EOF\n") != open {
			t.Errorf("wrong end:\n%s", text)
		}
	}
}

// In a bar, numbers are taken to lie evenly.
func TestPercentiles(t *testing.T) {
	of := [buckets]int64{0: 7, 11: 99, 12: 1}
	want := map[string]int64{"50": 1023 + 518, "90": 1023 + 931, "99": 2047}
	if got := percentiles(&of); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := percentiles(&[buckets]int64{0: 7}); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}

// A line names the value before, which the line before has told, and the wait that follows from its own numbers.
func TestLines(t *testing.T) {
	lines := []string{}
	p := printer{say: func(form string, values ...any) { lines = append(lines, fmt.Sprintf(form, values...)) }, recent: map[who]*recent{}}
	for at, each := range [][2]uint32{{0, 1000}, {1000, 3000}, {3000, 4000}} {
		p.note(&Decision{TNs: uint64(at), Peer: "::1", Old: each[0], New: each[1], Rate: 1_000_000, Why: "rate", Outcome: wasSet})
	}
	p.look(1<<64 - 1)
	want := []string{
		"::1 port 0: LOWAT unset -> 1000 bytes (rate; expected wait 67 ms at 1000 kB/s, rtt 0.0 ms, cwnd 0)",
		"::1 port 0: LOWAT 1000 -> 4000 bytes (rate; expected wait 70 ms at 1000 kB/s, rtt 0.0 ms, cwnd 0)",
	}
	if !reflect.DeepEqual(lines, want) {
		t.Errorf("got %q", lines)
	}
}
