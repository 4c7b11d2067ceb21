"""The commands of priolab beside runs, sweeps, studies and the demo, and the terminal output."""
