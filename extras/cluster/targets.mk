.PHONY: scaling

scaling: setup-core-tests ## measure the cost of a million arms; writes the tables of docs/measured/scaling.md (six minutes)
	@.venv/bin/python -m tools.benches.scaling docs/measured/scaling.md
