package main

import (
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

func TestDiffers(t *testing.T) {
	if differs(8000, 9000) || !differs(8000, 9001) || !differs(8000, 6999) || differs(8000, 7000) {
		t.Error("an eighth of the old value is the limit")
	}
}
