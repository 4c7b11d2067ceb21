package main

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"os"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/rlimit"
	"golang.org/x/sys/unix"
)

const (
	programName = "tune"
	holdNs      = 1e9 // as maps.h says
	buckets     = 32
	reasons     = 6
)

//go:embed priority_tuner.bpf.o
var object []byte

// rule is struct rule of maps.h.
type rule struct {
	TargetUs, Floor, Ceiling, Port, DryRun, Cautious, KnownOnly, Logs uint32
	HoldNs                                                            uint64
}

// counts is struct counts of maps.h.
type counts struct {
	Seen, Closed, Tuned, Refused, Forgotten, Unlogged uint64
	Decisions                                         [reasons]uint64
	Values, Waits                                     [buckets]int64
	ValuesBytes, WaitsUs                              int64
}

// add adds the numbers of another processor or another cgroup.
func (c *counts) add(more *counts) {
	c.Seen += more.Seen
	c.Closed += more.Closed
	c.Tuned += more.Tuned
	c.Refused += more.Refused
	c.Forgotten += more.Forgotten
	c.Unlogged += more.Unlogged
	for at := range c.Decisions {
		c.Decisions[at] += more.Decisions[at]
	}
	for at := range c.Values {
		c.Values[at] += more.Values[at]
		c.Waits[at] += more.Waits[at]
	}
	c.ValuesBytes += more.ValuesBytes
	c.WaitsUs += more.WaitsUs
}

// connection is struct connection of maps.h.
type connection struct {
	SpanNs                                          [3]uint64
	SinceNs, AckedRate, HighestRate, BeforeRate     uint64
	SpanBytes                                       [3]uint32
	AllBytes                                        uint32
	LowNs                                           uint64
	LowBytes, Own, Lowat, Last                      uint32
	WaitUs, Sysctl                                  uint32
	Unread                                          uint16
	Refused, Tuned                                  uint8
	_                                               uint32
}

// program is the program in the kernel with its maps, one for each cgroup. It is unloaded when this process ends.
type program struct {
	*ebpf.Collection
}

// load loads the program. No memory limit of the process must apply to it before Linux 5.11.
func load() (*program, error) {
	_ = rlimit.RemoveMemlock()
	spec, err := ebpf.LoadCollectionSpecFromReader(bytes.NewReader(object))
	if err != nil {
		return nil, fmt.Errorf("the program for the kernel cannot be read: %w", err)
	}
	made, err := ebpf.NewCollection(spec)
	switch {
	case err != nil && !mayLoad(), errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		return nil, impossibly("this user may not load a program into the kernel: " +
			"run as root, or with CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON")
	case errors.Is(err, unix.ENOSYS):
		return nil, impossibly("this kernel has no bpf(2); it needs CONFIG_BPF_SYSCALL and CONFIG_CGROUP_BPF")
	case err != nil:
		return nil, impossibly("Linux %s refuses the program: %v; Linux 5.15 or newer is needed, "+
			"with CONFIG_CGROUP_BPF", release(), reason(err))
	}
	return &program{made}, nil
}

// mayLoad tells whether this process has the capabilities. Without them, the library may report something else: it takes
// the kernel's refusal of a trial for the lack of a feature.
func mayLoad() bool {
	var data [2]unix.CapUserData
	if unix.Capget(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &data[0]) != nil {
		return true
	}
	has := func(number uint) bool { return data[number/32].Effective&(1<<(number%32)) != 0 }
	return has(unix.CAP_NET_ADMIN) && (has(unix.CAP_SYS_ADMIN) || has(unix.CAP_BPF) && has(unix.CAP_PERFMON))
}

func release() string {
	var name unix.Utsname
	_ = unix.Uname(&name)
	return unix.ByteSliceToString(name.Release[:])
}

// attach attaches the program to a cgroup, whose folder is open. The attachment ends with this process.
func (p *program) attach(folder *os.File) (*link.RawLink, error) {
	made, err := link.AttachRawLink(link.RawLinkOptions{
		Target:  int(folder.Fd()),
		Program: p.Programs[programName],
		Attach:  ebpf.AttachCGroupSockOps,
	})
	switch {
	case errors.Is(err, unix.EPERM):
		return nil, impossibly("this user may not attach a program to cgroup %s: "+
			"run as root, or with CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON", folder.Name())
	case err != nil:
		return nil, impossibly("cgroup %s: the program cannot be attached: %v",
			folder.Name(), reason(err))
	}
	return made, nil
}

// order writes the settings for the program; they apply at once.
func (p *program) order(settings *Settings) error {
	one := rule{
		TargetUs:  uint32(settings.Target.Microseconds()),
		Floor:     settings.Floor,
		Ceiling:   ceilingBytes,
		Port:      uint32(settings.Port),
		DryRun:    bit(settings.DryRun),
		Cautious:  1,
		KnownOnly: bit(settings.Ceiling == 0),
		Logs:      bit(settings.Log != "" || !settings.Quiet),
		HoldNs:    holdNs,
	}
	if settings.Ceiling != 0 {
		one.Ceiling = settings.Ceiling
	}
	return p.Maps["rules"].Put(uint32(0), &one)
}

func bit(is bool) uint32 {
	if is {
		return 1
	}
	return 0
}

// counted returns what the program has counted, over all processors.
func counted(of *ebpf.Map) (counts, error) {
	var each []counts
	sum := counts{}
	err := of.Lookup(uint32(0), &each)
	for at := range each {
		sum.add(&each[at])
	}
	return sum, err
}
