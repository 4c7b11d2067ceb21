/* The system calls that read and those that write, whatever the file: a BPF program of a front's counters and the
 * guest's kernel count them. The includer has the numbers, __NR_read and so on.
 */
#define CALLS_THAT_READ \
	case __NR_read: \
	case __NR_readv: \
	case __NR_pread64: \
	case __NR_preadv: \
	case __NR_preadv2: \
	case __NR_recvfrom: \
	case __NR_recvmsg: \
	case __NR_recvmmsg

#define CALLS_THAT_WRITE \
	case __NR_write: \
	case __NR_writev: \
	case __NR_pwrite64: \
	case __NR_pwritev: \
	case __NR_pwritev2: \
	case __NR_sendto: \
	case __NR_sendmsg: \
	case __NR_sendmmsg: \
	case __NR_sendfile: \
	case __NR_splice
