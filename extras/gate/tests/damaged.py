"""Files of the gate, to be damaged (tests/support/damaged_input.py)."""

from tests.support.damaged_input import Kind, copied

_GIVEN = ("FABRIC=virtual", "RESULTS=here/results")
KINDS = {
    "expectations": Kind(
        make=copied("docs", "examples", "hyper", "order.toml"),
        commands=(("gate", "nginx", "--expect", "here/mine.toml", *_GIVEN),),
        guest=True,
    ),
    "the gate's own expectations": Kind(
        make=copied("extras", "gate", "rfc9218.toml"),
        commands=(("gate", "https://127.0.0.1:9/", "--expect", "here/mine.toml", "--limit", "1s"),),
    ),
}
