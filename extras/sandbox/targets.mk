.PHONY: sandbox-examples setup-sandbox-tests
setup-sandbox-tests:
	@experiments/setup/setup.sh test TESTS=sandbox

sandbox-examples: setup-sandbox-tests ## repeat each example of docs/guide/sandbox.md a hundred times, to the byte, and write their outputs into it, and beside those on a real clock (an hour; RUNS=1: the latter alone, five minutes on an idle machine)
	@.venv/bin/python -m priolab.extras.sandbox.tests.examples $(or $(RUNS),100)

.PHONY: sandbox-machine
sandbox-machine: setup-sandbox-tests ## carry out each example of docs/guide/sandbox.md here and on an emulated machine, and write into it what is the same (half an hour; NAMES="go": only these, not written; needs root)
	@.venv/bin/python -m priolab.extras.sandbox.tests.another_machine $(NAMES)
