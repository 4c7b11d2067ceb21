package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"
)

// record is struct decision of maps.h.
type record struct {
	TNs, DeliveryRate, AckedRate, HighestRate, Rate                   uint64
	Peer                                                              [16]byte
	PeerPort                                                          [4]byte
	Family, Port, Event, Why, RttUs, CwndSegments, MssBytes, Old, New uint32
	Error                                                             int32
	_                                                                 uint32
}

// Decision is a change, or an attempted change, of one connection's value: a line of the log. common/formats/decisions.py
// explains the fields.
type Decision struct {
	TNs          uint64 `json:"t_ns"`
	Peer         string `json:"peer"`
	PeerPort     uint16 `json:"peer_port"`
	Port         uint32 `json:"port"`
	Event        string `json:"event"`
	DeliveryRate uint64 `json:"delivery_rate_bytes_s"`
	AckedRate    uint64 `json:"acked_rate_bytes_s"`
	HighestRate  uint64 `json:"highest_rate_bytes_s"`
	Rate         uint64 `json:"rate_bytes_s"`
	RttNs        uint64 `json:"rtt_ns"`
	Cwnd         uint32 `json:"cwnd_segments"`
	Mss          uint32 `json:"mss_bytes"`
	Old          uint32 `json:"old_bytes"`
	New          uint32 `json:"new_bytes"`
	Why          string `json:"why"`
	Outcome      string `json:"outcome"`
}

const (
	wasSet  = "set"
	wasDry  = "dry run"
	refused = "refused: "

	packetBuffer = 1 << 16 // as law.h says
)

var (
	events = map[uint32]string{5: "established", 8: "timeout", 9: "retransmission", 12: "round trip"} // BPF_SOCK_OPS_*
	whys   = [reasons]string{"nothing known", "floor", "rate", "ceiling", "sysctl", "server's own limit"}
)

// decode reads a record of the ring buffer. dryRun: the program sets no values.
func decode(raw []byte, dryRun bool) (Decision, error) {
	var one record
	if err := binary.Read(bytes.NewReader(raw), binary.NativeEndian, &one); err != nil {
		return Decision{}, err
	}
	made := Decision{
		TNs: one.TNs, DeliveryRate: one.DeliveryRate, AckedRate: one.AckedRate, HighestRate: one.HighestRate,
		Rate: one.Rate, RttNs: uint64(one.RttUs) * 1000, Cwnd: one.CwndSegments, Mss: one.MssBytes,
		Old: one.Old, New: one.New, Port: one.Port, Event: events[one.Event], Outcome: wasSet,
		PeerPort: binary.BigEndian.Uint16(one.PeerPort[2:]), Peer: addressOf(one.Family, one.Peer),
	}
	if one.Why < reasons {
		made.Why = whys[one.Why]
	}
	if one.Error != 0 {
		made.Outcome = refused + unix.Errno(-one.Error).Error()
	} else if dryRun {
		made.Outcome = wasDry
	}
	return made, nil
}

func addressOf(family uint32, raw [16]byte) string {
	if family == unix.AF_INET {
		return netip.AddrFrom4([4]byte(raw[:4])).String()
	}
	return netip.AddrFrom16(raw).String()
}

func (d *Decision) line() []byte {
	made, _ := json.Marshal(d)
	return append(made, '\n')
}

// String returns the decision as text for people.
func (d *Decision) String() string {
	rate, old, outcome := "rate unknown", "unset", ""
	if d.Rate != 0 {
		wait := float64(d.New+packetBuffer) / float64(d.Rate)
		rate = fmt.Sprintf("expected wait %.0f ms at %.0f kB/s", wait*1000, float64(d.Rate)/1000)
	}
	if d.Old != 0 {
		old = fmt.Sprint(d.Old)
	}
	if d.Outcome != wasSet {
		outcome = fmt.Sprintf(" [%s]", d.Outcome)
	}
	return fmt.Sprintf("%s port %d: LOWAT %s -> %d bytes (%s; %s, rtt %.1f ms, cwnd %d)%s", d.Peer, d.PeerPort, old,
		d.New, d.Why, rate, float64(d.RttNs)/1e6, d.Cwnd, outcome)
}
