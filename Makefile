# The table of contents. Every target does its own set-up; looking around, and experiments in containers, need no more of
# it than the Python environment.
#
#   make experiment LOWAT=131072      the demonstration: control and treatment, table, verdicts, picture
#   make sweep LOWAT=none,16384 CC=cubic,bbr    every combination, as many side by side as the machine bears
#   make test                         all tests

PYTHON ?= python3
PRIOLAB := .venv/bin/priolab
# What was written after `make TARGET`, for the lab to read (and to refuse, if it is misspelt).
# BASE, SUITE, MIRROR and FULL are about images and suites, KERNEL about the guest's kernel, UPGRADE about packages, KILLS,
# RUNS and MUTATIONS about how many; they are not knobs. make exports what is given.
no_knobs := PYTHON=% BASE=% SUITE=% MIRROR=% FULL=% KERNEL=% UPGRADE=% KILLS=% RUNS=% MUTATIONS=%
export PRIOLAB_KNOBS := $(filter-out $(no_knobs),$(MAKEOVERRIDES))
export PYTHON
ifdef KERNEL
export PRIOLAB_KERNEL := $(KERNEL)
endif

.DEFAULT_GOAL := help
.PHONY: help setup environment kernel experiment sweep reproduce notebook show list doctor test lint format bench picture \
    agreement auto matrix model sabotage scaling fuzz base-image clean-images clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo "Knobs follow as NAME=VALUE; docs/knobs.md explains them: make experiment LOWAT=16384 SERVER=h2o"

setup: ## install what is missing: system packages, Python environment, guest kernel
	@experiments/host/setup.sh

# What captures, a browser, every server, tests, checks and sweeps need besides.
.PHONY: setup-experiment setup-capture setup-chromium setup-servers setup-test setup-lint setup-sweep setup-compared
setup-experiment setup-capture setup-chromium setup-servers setup-test setup-lint setup-sweep:
	@experiments/host/setup.sh $(@:setup-%=%)

# What compares the two servers that the documents compare needs both.
setup-compared:
	@experiments/host/setup.sh SERVER=nginx,h2o

environment: ## make the Python environment only; says what else is missing
	@experiments/host/setup.sh environment

kernel: setup ## build the guest kernel, once (minutes); it is kept in ~/.cache/priolab; KERNEL=6.12 or a tarball for another

experiment: $(if $(filter FABRIC=compose,$(MAKEOVERRIDES)),environment,setup-experiment) ## run an experiment: LOWAT unset, then as given
	@$(PRIOLAB) run --from-make

sweep: $(if $(filter FABRIC=compose,$(MAKEOVERRIDES)),environment,setup-sweep) ## run every combination of values: make sweep LOWAT=none,4096,16384 CC=cubic,bbr REPEAT=3
	@$(PRIOLAB) sweep --from-make

reproduce: $(if $(filter FABRIC=compose,$(MAKEOVERRIDES)),environment,setup) ## measure and judge the article's pictures: results/reproduction (about a minute)
	@$(PRIOLAB) reproduce --from-make

notebook: ## open the notebooks in JupyterLab on this machine (installed when first used)
	@experiments/host/setup.sh notebook
	@.venv/bin/jupyter-lab --ip=127.0.0.1 --ServerApp.root_dir=analysis/notebooks $(if $(filter 0,$(shell id -u)),--allow-root)

.PHONY: setup-demo demo slides
setup-demo:
	@experiments/host/setup.sh demo

demo: setup-demo ## play experiments as films, on a page of this machine: for a talk, or to explore
	@$(PRIOLAB) demo --from-make

slides: setup-demo ## write the demo's story as one HTML file that needs no server, and as pictures: results/slides
	@$(PRIOLAB) slides --from-make

show: environment ## show the newest results again
	@$(PRIOLAB) show

list: environment ## list the named scenarios (SCENARIO=NAME) and sweeps (SWEEP=NAME)
	@$(PRIOLAB) list

doctor: environment ## show what this machine can do, and what is missing
	@$(PRIOLAB) doctor

test: setup-test ## unit, contract, server, link and lab tests; names the ten costliest at its end
	@parallel=.pytest_cache/parallel.xml; punctual=.pytest_cache/punctual.xml; rm -f $$parallel $$punctual; status=0; \
	.venv/bin/pytest --numprocesses=auto --dist=loadfile --no-loadscope-reorder --junitxml=$$parallel -m "not punctual" || status=$$?; \
	.venv/bin/pytest --junitxml=$$punctual -m punctual || status=$$?; \
	.venv/bin/python -m tests.costliest $$parallel $$punctual; exit $$status

.PHONY: test-unit test-fast
test-unit: setup-lint ## unit tests: no sockets, no sleeps (half a minute)
	@.venv/bin/pytest --numprocesses=auto --dist=loadfile --quiet tests/unit

test-fast: setup-test ## unit, contract and server tests (two minutes)
	@.venv/bin/pytest --numprocesses=auto --dist=loadfile --no-loadscope-reorder --quiet tests/unit tests/contract tests/server

.PHONY: test-suites
test-suites: ## the README's commands in bare Debian 12, 13 and sid, as root and as a user (root; an hour; SUITE=trixie: one)
	@$(PYTHON) -m tests.suites $(SUITE) $(PRIOLAB_KNOBS) $(if $(filter yes,$(FULL)),--full)

.PHONY: kills honest mutations
kills: setup-test ## kill parts of a lab 500 times, and list what is left; writes the table of RELIABILITY.md (an hour; KILLS=60: fewer)
	@.venv/bin/python -m tests.kills $(or $(KILLS),500) $(if $(FABRIC),$(FABRIC))

honest: setup-test ## make 200 undisturbed runs: none may be invalid; writes its table of RELIABILITY.md (half an hour; RUNS=20: fewer)
	@.venv/bin/python -m tests.honest $(or $(RUNS),200)

mutations: setup-test ## 1,000 damaged folders and files, read by every command; writes its table of RELIABILITY.md (half an hour; MUTATIONS=60: fewer)
	@.venv/bin/python -m tests.mutations $(or $(MUTATIONS),1000)

fuzz: setup-lint ## send a million frames as misbehaving peers, from kept seeds (some minutes)
	@.venv/bin/python -m tests.fuzz

lint: setup-lint ## ruff, mypy, the import contract, the types of the demo's page
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/mypy
	@.venv/bin/lint-imports
	@.venv/bin/python -m tests.page

format: setup-lint ## rewrite the Python files in the house format
	@.venv/bin/ruff check --fix .
	@.venv/bin/ruff format .

# The set-up fails while a list lacks a package, so it is run only where there is no uv yet.
.PHONY: constraints
compile := .venv/bin/uv pip compile --quiet --universal --generate-hashes --no-annotate --no-config \
    --custom-compile-command "make constraints" $(if $(filter yes,$(UPGRADE)),--upgrade)
constraints: export UV_DEFAULT_INDEX ?= $(PIP_INDEX_URL)
constraints: ## pin what pyproject.toml asks for, by digests: constraints.txt, build-requirements.txt (UPGRADE=yes: newest versions)
	@[ -x .venv/bin/uv ] || experiments/host/setup.sh lint
	@$(compile) --group build --output-file build-requirements.txt
	@$(compile) pyproject.toml --all-extras --constraints build-requirements.txt --output-file constraints.txt

bench: setup-compared ## measure the lab's speed on this machine
	@.venv/bin/python -m experiments.benches

picture: setup-servers setup-test ## make the pictures of README.md, docs/http3.md and docs/chromium.md anew
	@.venv/bin/python -m experiments.studies.picture
	@.venv/bin/python -m experiments.studies.animation docs/demo.webp

agreement: setup ## compare the fabrics that can be used here; writes docs/agreement.md (about 15 minutes)
	@$(PRIOLAB) agreement docs/agreement.md

auto: setup-compared ## measure LOWAT=auto on every network and when the rate changes; writes docs/auto.md (about 25 minutes)
	@$(PRIOLAB) auto docs/auto.md

matrix_folder := $(if $(filter-out REUSE=% RESULTS=%,$(PRIOLAB_KNOBS)),$(or $(RESULTS),results),docs)
matrix: setup-servers ## measure which servers keep the order, in each dialect; writes docs/matrix.md, .html and .json; for some servers results/matrix.md
	@$(PRIOLAB) matrix --from-make $(matrix_folder)/matrix.md

knobs: environment ## write the table of all knobs, docs/knobs.md
	@.venv/bin/python -m experiments.studies.knob_tables docs/knobs.md

model: setup-compared ## compare the predictor with measurements; writes docs/model.md (about two minutes)
	@$(PRIOLAB) model docs/model.md

sabotage: setup ## measure every way to spoil the effect, and its cure; writes docs/sabotage.md (half a minute)
	@$(PRIOLAB) sabotage docs/sabotage.md

scaling: setup-test ## measure what a million arms cost; writes its tables into docs/scaling.md (two minutes)
	@.venv/bin/python -m experiments.benches.scaling docs/scaling.md

base-image: ## make the image that containers are built on, where none can be pulled (root, Docker, debootstrap)
	@experiments/host/base-image.sh

.PHONY: sbom
sbom: setup-lint ## write a bill of materials for each container image: sbom/IMAGE.cdx.json (Docker; SERVER=nginx,h2o: other fronts)
	@.venv/bin/python -m experiments.studies.bill sbom $(SERVER)

clean-images: ## remove the lab's container images, except those in use
	@docker version --format '{{.Server.Version}}' >/dev/null
	@docker image ls --filter 'reference=priolab-*' --filter dangling=false --format '{{.Repository}}:{{.Tag}}' | \
	while read -r image; do \
	    [ -n "$$(docker ps --all --quiet --filter "ancestor=$$image")" ] || docker image rm "$$image"; \
	done

clean: ## remove the Python environment and caches; results and the guest kernel stay
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis *.egg-info
