.PHONY: gates
gates: setup-test ## run the gate on a sound server 1,000 times, and on servers with planted faults; writes the section Gates of RELIABILITY.md (an hour; RUNS=20: fewer)
	@.venv/bin/python -m priolab.extras.gate.tests.gates $(or $(RUNS),1000)
