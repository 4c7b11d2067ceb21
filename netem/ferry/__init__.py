"""The ferry: a process that makes a Link real on kernels without sch_netem.

Loops lead a router's packets past it (loops), a ring reads and writes them (ring), a Direction says when each may go on
(direction), and the process runs all three (process).
"""
