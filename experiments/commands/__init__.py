"""The commands of `priolab` that do not make runs, sweeps, studies or the demo; and the output to a terminal."""
