"""The commands of `priolab` except runs, sweeps, studies and the demo; and the output to a terminal."""
