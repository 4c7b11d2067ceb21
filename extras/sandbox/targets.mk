.PHONY: sandbox-examples
sandbox-examples: setup-test ## repeat each example of docs/guide/sandbox.md a hundred times, to the byte, and write their outputs into it (an hour; RUNS=3: fewer)
	@.venv/bin/python -m priolab.extras.sandbox.tests.examples $(or $(RUNS),100)
