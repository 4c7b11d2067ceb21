"""The ferry: a process that makes a Link real on kernels without sch_netem.

Loops lead a router's packets past it (loops), a Direction says when each may go on (direction), a ring is how it reads
them (ring), and the process carries them over (process).
"""
