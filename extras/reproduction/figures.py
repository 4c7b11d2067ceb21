"""Reads the figures of a run's measured load: the times of image and script, with which the article's are compared."""

from dataclasses import dataclass
from typing import Self

from priolab import Run, Verdict
from priolab.common.formats.scenario import AUTO
from priolab.common.packets import RECORD_BYTES


@dataclass(frozen=True, kw_only=True)
class Figures:
    """The figures of a run's measured load. Times are seconds after the page's request.

    possible_s: the oracle's bound for the script's first byte. record_s: the time of a TLS record at the link's rate.
    """

    lowat_bytes: int | None
    verdict: Verdict
    script_first_s: float
    script_last_s: float
    image_first_s: float
    image_last_s: float
    available_s: float
    possible_s: float
    image_before_bytes: int
    record_s: float

    @property
    def complete_s(self) -> float:
        """The time at which script and image are complete."""
        return max(self.script_last_s, self.image_last_s)

    @property
    def behind_image_s(self) -> float:
        """The time from the image's first byte to the script's first byte."""
        return self.script_first_s - self.image_first_s

    @property
    def value(self) -> str:
        """LOWAT as text; `unset` if it is unset."""
        return "unset" if self.lowat_bytes is None else str(self.lowat_bytes)

    @classmethod
    def of(cls, run: Run) -> Self:
        """Reads the figures from a run that is ok."""
        load, oracle = run.record.measured, run.record.oracle
        script, image = load.resources["script"], load.resources["image"]
        lowat, rate_bit_s = run.scenario.lowat, run.scenario.rate_bit_s
        assert run.record.verdict is not None
        assert oracle is not None
        assert lowat != AUTO
        return cls(
            lowat_bytes=lowat,
            verdict=run.record.verdict,
            script_first_s=script.first_byte_ms / 1000,
            script_last_s=script.last_byte_ms / 1000,
            image_first_s=image.first_byte_ms / 1000,
            image_last_s=image.last_byte_ms / 1000,
            available_s=load.available_ms / 1000,
            possible_s=oracle.first_byte_ms / 1000,
            image_before_bytes=load.other_bytes_before,
            record_s=RECORD_BYTES * 8 / rate_bit_s if rate_bit_s else 0.0,
        )
