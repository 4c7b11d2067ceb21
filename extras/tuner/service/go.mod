module priority-tuner

go 1.27

require (
	github.com/cilium/ebpf v0.22.0
	golang.org/x/sys v0.43.0
)
