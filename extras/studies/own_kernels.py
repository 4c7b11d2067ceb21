"""Guest kernels of the study of hypotheses alone: one without a repair of TCP_NOTSENT_LOWAT, and one with kTLS."""

from priolab.testbed import Additions, Change, Edit, Effect

BEFORE_5_18 = Additions(
    changes=(
        Change(
            name="a writer is woken by acknowledgements only",
            effect=Effect.RESULT,
            wordings=((Edit("net/ipv4/tcp_output.c", "\n\ttcp_check_space(sk);\n", "\n"),),),
        ),
    )
)
"""Takes out the repair of Linux 5.18 (2022): the kernel looks whether a writer can go on when it has sent a packet."""

WITH_KTLS = Additions(options=("CONFIG_TLS=y",))
