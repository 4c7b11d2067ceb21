"""The README's two commands in bare file systems of Debian's suites, made by debootstrap."""
