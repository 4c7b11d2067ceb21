"""The README's two commands on bare systems: file systems of Debian's suites without anything of the lab's."""
