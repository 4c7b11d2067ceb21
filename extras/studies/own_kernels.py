"""Guest kernels of the study of beliefs alone: two without later repairs of TCP_NOTSENT_LOWAT, and one with kTLS."""

from priolab.experiments.testbed.guest.kernel_patches.additions import Additions
from priolab.experiments.testbed.guest.kernel_patches.edit import Change, Edit, Effect

_UNREPAIRED_IN_2022 = Change(
    name="a writer is woken by acknowledgements only",
    effect=Effect.RESULT,
    wordings=((Edit("net/ipv4/tcp_output.c", "\n\ttcp_check_space(sk);\n", "\n"),),),
)
"""Takes out the repair of Linux 5.18. Without it a writer is woken only when a packet comes in."""

_FREED, _FREED_IN_PART = "sk_wmem_queued_add(sk, -skb->truesize);", "sk_wmem_queued_add(sk, -delta_truesize);"
_SHRUNK = "SOCK_QUEUE_SHRUNK"

_UNREPAIRED_IN_2020 = Change(
    name="a writer is woken by acknowledgements without gaps only",
    effect=Effect.RESULT,
    wordings=(
        (
            Edit("include/net/sock.h", "\tSOCK_DESTROY,\n", f"\tSOCK_DESTROY,\n\t{_SHRUNK},\n"),
            Edit("include/net/tcp.h", _FREED, f"{_FREED}\n\tsock_set_flag(sk, {_SHRUNK});"),
            Edit("net/ipv4/tcp_output.c", _FREED_IN_PART, f"{_FREED_IN_PART}\n\tsock_set_flag(sk, {_SHRUNK});"),
            Edit(
                "include/net/tcp.h",
                "\t/* pairs with tcp_poll() */\n",
                f"\tif (!sock_flag(sk, {_SHRUNK}))\n\t\treturn;\n\tsock_reset_flag(sk, {_SHRUNK});\n",
            ),
        ),
    ),
)
"""Takes out the repair of Linux 5.10 as well. Without it a writer is woken only when bytes have left the send buffer.

A selective acknowledgement lets the kernel send more, but takes no bytes out of the send buffer.
"""

BEFORE_5_18 = Additions(changes=(_UNREPAIRED_IN_2022,))
BEFORE_5_10 = Additions(changes=(_UNREPAIRED_IN_2022, _UNREPAIRED_IN_2020))
WITH_KTLS = Additions(options=("CONFIG_TLS=y",))
