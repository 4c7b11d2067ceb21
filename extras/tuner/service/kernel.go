package main

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"math"
	"net/netip"
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
	wholeShare  = 1 << 16 // as maps.h says
)

//go:embed priority_tuner.bpf.o
var object []byte

// rule is struct rule of maps.h.
type rule struct {
	TargetUs, Floor, Ceiling, PicksPorts, DryRun, Cautious, KnownOnly, Logs uint32
	HoldNs                                                                  uint64
	PicksClients, Share                                                     uint32
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
	SpanNs                                      [3]uint64
	SinceNs, AckedRate, HighestRate, BeforeRate uint64
	SpanBytes                                   [3]uint32
	AllBytes                                    uint32
	LowNs                                       uint64
	LowBytes, Own, Lowat, Last                  uint32
	WaitUs, Sysctl                              uint32
	Unread                                      uint16
	Refused, Tuned                              uint8
	_                                           uint32
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
		TargetUs:     uint32(settings.Target.Microseconds()),
		Floor:        settings.Floor,
		Ceiling:      ceilingBytes,
		PicksPorts:   bit(settings.Ports != nil || settings.ExceptPorts != nil),
		DryRun:       bit(settings.DryRun),
		Cautious:     1,
		KnownOnly:    bit(settings.Ceiling == 0),
		Logs:         bit(settings.Log != "" || !settings.Quiet),
		HoldNs:       holdNs,
		PicksClients: bit(settings.Clients != nil || settings.ExceptClients != nil),
		Share:        uint32(math.Ceil(settings.Share / 100 * wholeShare)),
	}
	if settings.Ceiling != 0 {
		one.Ceiling = settings.Ceiling
	}
	if err := p.Maps["ports"].Put(uint32(0), settings.portBits()); err != nil {
		return err
	}
	if err := p.orderClients(settings); err != nil {
		return err
	}
	return p.Maps["rules"].Put(uint32(0), &one)
}

// portBits returns a bit for each port, which is set if connections to it are tuned.
func (s *Settings) portBits() *[1 << 13]byte {
	bits := new([1 << 13]byte)
	if s.Ports == nil {
		for at := range bits {
			bits[at] = 0xff
		}
	}
	for _, port := range s.Ports {
		bits[port>>3] |= 1 << (port & 7)
	}
	for _, port := range s.ExceptPorts {
		bits[port>>3] &^= 1 << (port & 7)
	}
	return bits
}

// network is struct network of maps.h.
type network struct {
	Bits    uint32
	Address [16]byte
}

func networkOf(prefix netip.Prefix) network {
	bits := prefix.Bits()
	if prefix.Addr().Is4() {
		bits += 96
	}
	return network{uint32(bits), prefix.Addr().As16()}
}

func (n network) String() string {
	address := netip.AddrFrom16(n.Address).Unmap()
	return netip.PrefixFrom(address, int(n.Bits)-(128-address.BitLen())).String()
}

// networks returns whether the connections of each network are tuned, unless a longer prefix says otherwise.
func (s *Settings) networks() map[network]uint32 {
	found := map[network]uint32{{}: bit(s.Clients == nil)}
	for _, each := range s.Clients {
		found[networkOf(each)] = 1
		for _, except := range s.ExceptClients {
			if except.Overlaps(each) && except.Bits() <= each.Bits() {
				found[networkOf(each)] = 0
			}
		}
	}
	for _, each := range s.ExceptClients {
		found[networkOf(each)] = 0
	}
	return found
}

// orderClients writes the networks, and then takes away those that are no longer there.
func (p *program) orderClients(settings *Settings) error {
	wanted := settings.networks()
	for each, tuned := range wanted {
		if err := p.Maps["clients"].Put(each, tuned); err != nil {
			return err
		}
	}
	var one network
	var tuned uint32
	gone := []network{}
	all := p.Maps["clients"].Iterate()
	for all.Next(&one, &tuned) {
		if _, stays := wanted[one]; !stays {
			gone = append(gone, one)
		}
	}
	for _, each := range gone {
		if err := p.Maps["clients"].Delete(each); err != nil {
			return err
		}
	}
	return all.Err()
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
