.PHONY: gates setup-gate-tests
setup-gate-tests:
	@experiments/setup/setup.sh test TESTS=gate

gates: setup-gate-tests ## run the gate on a sound server 1,000 times, and on servers with planted faults; writes the section Gates of RELIABILITY.md (two hours; RUNS=20: fewer)
	@.venv/bin/python -m priolab.extras.gate.tests.gates $(or $(RUNS),1000)

.PHONY: stock-runner
stock-runner: setup-gate-tests ## carry out the steps of action.yml on an imitation of a stock runner; writes the section A stock runner of RELIABILITY.md (needs root; ten minutes)
	@.venv/bin/python -m priolab.extras.gate.tests.stock
