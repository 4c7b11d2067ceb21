# The lab's commands. Each target installs the packages that it needs. Commands that only show something, and
# experiments in containers, need only the Python environment.
#
#   make experiment LOWAT=131072      the demonstration: control and treatment, table, verdicts, picture
#   make sweep LOWAT=none,16384 CC=cubic,bbr    every combination of values; as many runs at once as the machine bears
#   make test                         the tests of the core; make test-all: all tests

PYTHON ?= python3
PRIOLAB := .venv/bin/priolab
# The part of the set-up for a command that needs no program of this machine if it runs in containers.
here = $(if $(filter FABRIC=compose,$(MAKEOVERRIDES)),environment,$(1))
# PRIOLAB_KNOBS passes the variables of the command line to the lab, which refuses misspelt ones. The variables in
# no_knobs are not knobs; make exports them to its commands. BASE and SUITE are for images and suites (USER, NEW, ONLY and
# ALONE for the commands tried there), CASES for own-servers, MIRROR for Debian's packages, PASSED for tests, KERNEL for
# the guest kernel, UPGRADE for packages; KILLS, RUNS and MUTATIONS are numbers of trials.
no_knobs := PYTHON=% AGAINST=% BASE=% SUITE=% MIRROR=% PASSED=% KERNEL=% UPGRADE=% KILLS=% RUNS=% MUTATIONS=% \
    USER=% NEW=% ONLY=% ALONE=% CASES=%
export PRIOLAB_KNOBS := $(filter-out $(no_knobs),$(MAKEOVERRIDES))
export PYTHON
ifeq ($(origin PYTHON),command line)
export PRIOLAB_PYTHON_IS_CHOSEN := yes
endif
ifdef KERNEL
export PRIOLAB_KERNEL := $(KERNEL)
endif

.DEFAULT_GOAL := help
.PHONY: help setup environment kernel kernel-archive experiment sweep show list doctor test test-all lint format bench picture knobs fuzz \
    base-image image clean-images clean

-include extras/*/targets.mk

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo "Knobs follow as NAME=VALUE; docs/reference/knobs.md explains them: make experiment LOWAT=16384 SERVER=h2o"

setup: ## install missing system packages, the Python environment and the guest kernel
	@experiments/setup/setup.sh

# Each installs additional packages, for experiments, captures, a browser, every server, tests, checks or sweeps.
.PHONY: setup-experiment setup-capture setup-chromium setup-firefox setup-webkit setup-servers setup-matrix setup-test setup-lint setup-site setup-sweep setup-compared
setup-experiment setup-capture setup-chromium setup-firefox setup-webkit setup-servers setup-matrix setup-test setup-lint setup-site setup-sweep:
	@experiments/setup/setup.sh $(@:setup-%=%)

# For targets that compare nginx with h2o.
setup-compared:
	@experiments/setup/setup.sh SERVER=nginx,h2o

# For campaigns of the core, which run the lab from pytest's modules.
.PHONY: setup-core-tests
setup-core-tests:
	@experiments/setup/setup.sh test TESTS=core

# Ends a recipe that is for container images before anything is installed for it.
needs_docker := command -v docker >/dev/null || { echo "make: docker is not installed; install docker.io" >&2; exit 1; }

environment: ## make only the Python environment, and list what else is missing
	@experiments/setup/setup.sh environment

kernel: ## build the guest kernel into ~/.cache/priolab, once (some minutes; KERNEL=6.12, or a tarball: another version)
	@experiments/setup/setup.sh kernel

kernel-archive: kernel ## pack the guest kernel into a file, with which other machines need no build (KERNEL=FILE#sha256=...)
	@$(PRIOLAB) kernel --archive

experiment: ## run an experiment: an arm with LOWAT unset, and an arm with the LOWAT given
	@experiments/setup/setup.sh $(call here,experiment) -- run --from-make

sweep: ## run every combination of the given values: make sweep LOWAT=none,4096,16384 CC=cubic,bbr REPEAT=3
	@experiments/setup/setup.sh $(call here,sweep) -- sweep --from-make

show: ## show the newest experiment's results again
	@experiments/setup/setup.sh environment -- show

list: ## list the named scenarios (SCENARIO=NAME) and sweeps (SWEEP=NAME)
	@experiments/setup/setup.sh environment -- list

doctor: ## show what the lab can do on this machine, and what is missing for the rest
	@experiments/setup/setup.sh environment -- doctor

test: ## run the core's tests, with nginx and Node, in the guest and on real clocks (five minutes); then list the slowest and the failed ones
	@experiments/setup/setup.sh test TESTS=core
	@.venv/bin/python -m tools.whole core

test-all: $(if $(PASSED),,test) setup-test ## run all tests: also with all servers and browsers, in containers, and those of the extras (a quarter of an hour; make test-demo: those of one extra; PASSED=FOLDER: all but those noted there; WHOLE=yes: also the costly ones, for releases)
	@.venv/bin/python -m tools.whole rest $(PASSED)

# A misspelt extra is refused before anything is installed.
test-%:
	@[ -f extras/$*/extra.toml ] || [ -f tests/lab/$*/needs.toml ] || { echo "make: $* is not an extra; these are: $(patsubst extras/%/extra.toml,%,$(wildcard extras/*/extra.toml)), and sandbox" >&2; exit 2; }
	@experiments/setup/setup.sh test TESTS=$*
	@.venv/bin/python -m tools.whole $*

.PHONY: test-unit test-fast
test-unit: setup-lint ## run the unit tests: no sockets, no sleeps (half a minute)
	@.venv/bin/pytest --numprocesses=auto --dist=loadfile --quiet tests/unit

# Most server tests wait for other processes, so two workers share a processor.
test-fast: setup-test ## run unit, contract and server tests (under two minutes)
	@.venv/bin/pytest --numprocesses=$$((2 * $$(nproc))) --dist=loadfile --no-loadscope-reorder --quiet tests/unit tests/contract tests/server

.PHONY: test-suites
test-suites: ## run the README's commands in bare Debian 12, 13 and sid, as root and as a user (needs root and debootstrap; two hours; SUITE=trixie: one; SUITE=trixie:root: as one user)
	@$(PYTHON) -m tools.suites $(SUITE) $(PRIOLAB_KNOBS)

.PHONY: documented-commands
documented-commands: setup-lint ## try every command of README and guides on a bare machine; writes docs/measured/commands.md (needs root and debootstrap; two hours; SUITE=bookworm, USER=lab, NEW=yes, ONLY=TEXT, ALONE=yes)
	@.venv/bin/python -m tools.suites.commands $(SUITE) $(if $(filter command,$(origin USER)),--user $(USER)) $(if $(ONLY),--only "$(ONLY)") $(if $(filter yes,$(NEW)),--new) $(if $(filter yes,$(ALONE)),--first)

.PHONY: kills honest lies mutations
kills: setup-core-tests ## kill processes of running labs 500 times; writes the section Kills of RELIABILITY.md (an hour; KILLS=60: fewer)
	@.venv/bin/python -m tools.campaigns.kills $(or $(KILLS),500) $(if $(FABRIC),$(FABRIC))

honest: setup-test ## make 300 undisturbed runs, of which none may be invalid; writes the section Honest runs of RELIABILITY.md (half an hour; RUNS=20: fewer)
	@.venv/bin/python -m tools.campaigns.honest $(or $(RUNS),300)

lies: setup-test ## change 300 runs behind the lab's back, of which none may be believed; writes the section Changed runs of RELIABILITY.md (half an hour; RUNS=20: fewer)
	@.venv/bin/python -m tools.campaigns.lies $(or $(RUNS),300)

mutations: setup-core-tests ## give 1,000 damaged folders and files to the commands, as the tests do with a few; writes the section Damaged files of RELIABILITY.md (half an hour; MUTATIONS=60: fewer)
	@.venv/bin/python -m tools.campaigns.mutations $(or $(MUTATIONS),1000)

.PHONY: ledgers
ledgers: ## compare ledgers from samples with ledgers from captures on 40 links; writes the section Ledgers of RELIABILITY.md (some minutes; RUNS=20: fewer)
	@experiments/setup/setup.sh test TESTS=core SERVER=nginx,h2o,nghttpx CAPTURE=yes
	@.venv/bin/python -m tools.campaigns.ledgers $(or $(RUNS),40)

.PHONY: own-servers
own-servers: ## measure again what knee recommends on twenty links, with own configurations of four servers; writes docs/measured/own-servers.md (half an hour; CASES="3 7": only these)
	@experiments/setup/setup.sh test TESTS=core SERVER=nginx,h2o,haproxy,caddy
	@.venv/bin/python -m tools.campaigns.own_servers $(CASES)

.PHONY: setup-sandbox-tests sandbox-examples sandbox-machine
setup-sandbox-tests:
	@experiments/setup/setup.sh test TESTS=sandbox

sandbox-examples: setup-sandbox-tests ## repeat each example of docs/guide/sandbox.md a hundred times, to the byte, and write their outputs into it, and into docs/reference/sandbox.md those on a real clock (an hour; RUNS=1: the latter alone, five minutes on an idle machine)
	@.venv/bin/python -m tools.campaigns.sandbox_examples $(or $(RUNS),100)

sandbox-machine: setup-sandbox-tests ## carry out each example of docs/guide/sandbox.md here and on an emulated machine, and write into docs/reference/sandbox.md what is the same (half an hour; NAMES="go": only these, not written; needs root)
	@.venv/bin/python -m tools.campaigns.sandbox_machine $(NAMES)

.PHONY: arm64
arm64: setup-core-tests ## run the default experiment in an emulated arm64 machine; writes the table of docs/guide/fabrics.md (needs root, debootstrap, qemu-user-static, qemu-system-arm and cpio; half an hour; RUNS=1: fewer)
	@.venv/bin/python -m tools.campaigns.arm64 $(or $(RUNS),3)

.PHONY: removals
removals: setup-core-tests ## take each extra away from a copy of the checkout, and the lab from the engine: nothing may be missed (a quarter of an hour)
	@.venv/bin/python -m tools.removal
	@.venv/bin/python -m tools.lab_removal

fuzz: setup-lint ## fuzz clients and servers with a million frames, which follow from fixed seeds (some minutes)
	@.venv/bin/python -m tools.campaigns.fuzz

lint: setup-lint ## check the code: ruff, mypy, the import contract, the types of the demo's page
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/mypy
	@.venv/bin/lint-imports
	@.venv/bin/python -m tests.page

format: setup-lint ## format the Python files with ruff
	@.venv/bin/ruff check --fix .
	@.venv/bin/ruff format .

# The set-up fails if constraints.txt lacks a package, and this target is the remedy. So it runs only if uv is missing.
.PHONY: constraints
compile := .venv/bin/uv pip compile --quiet --universal --generate-hashes --no-annotate --no-config \
    --custom-compile-command "make constraints" $(if $(filter yes,$(UPGRADE)),--upgrade)
constraints: export UV_DEFAULT_INDEX ?= $(PIP_INDEX_URL)
constraints: ## pin the packages of pyproject.toml by version and digest: constraints.txt, build-requirements.txt (UPGRADE=yes: newest versions)
	@[ -x .venv/bin/uv ] || experiments/setup/setup.sh lint
	@$(compile) --group build --output-file build-requirements.txt
	@$(compile) pyproject.toml --all-extras --constraints build-requirements.txt --output-file constraints.txt

bench: setup-compared $(if $(AGAINST),setup-test) ## measure the lab's speed on this machine (AGAINST=CHECKOUT: also compare with that checkout, which needs its .venv)
	@.venv/bin/python -m tools.benches $(AGAINST)
	$(if $(AGAINST),@.venv/bin/python -m tools.campaigns.cost $(AGAINST))

picture: ## redraw the pictures of README.md, docs/guide/http3.md and docs/guide/chromium.md
	@experiments/setup/setup.sh test TESTS=core SERVER=nginx,caddy,caddy-h3 CLIENT=chromium
	@.venv/bin/python -m tools.picture

knobs: environment ## write the table of all knobs, docs/reference/knobs.md, and the link's in compose.yaml
	@.venv/bin/python -m tools.knob_tables docs/reference/knobs.md compose.yaml

.PHONY: man
man: setup-lint ## write the man page of priolab, docs/priolab.1
	@.venv/bin/python -m tools.man_page docs/priolab.1

.PHONY: site
site: setup-site ## build the documents as a web site that needs no server and no network: build/site
	@.venv/bin/python -m tools.site

.PHONY: bpf
bpf: environment ## compile the BPF programs of the tuner and of the counts of calls anew (needs clang, llvm and libbpf-dev, of Debian 12 for the same bytes)
	@.venv/bin/python -m tools.bpf_programs

image: ## make the image of the lab, priolab/lab, from the base image (needs Docker)
	@$(needs_docker)
	@experiments/setup/setup.sh kernel
	@.venv/bin/python -m tools.image

base-image: ## make the base image of the containers, if it cannot be pulled (needs root, Docker, debootstrap)
	@$(needs_docker)
	@experiments/setup/base-image.sh

.PHONY: sbom
sbom: ## write a bill of materials for each container image: sbom/IMAGE.cdx.json (needs Docker; SERVER=nginx,h2o: the images of these fronts)
	@$(needs_docker)
	@experiments/setup/setup.sh lint
	@.venv/bin/python -m tools.bill sbom $(SERVER)

clean-images: ## remove the lab's container images, except those in use
	@$(needs_docker)
	@docker version --format '{{.Server.Version}}' >/dev/null
	@docker image ls --filter 'reference=priolab-*' --filter dangling=false --format '{{.Repository}}:{{.Tag}}' | \
	while read -r image; do \
	    [ -n "$$(docker ps --all --quiet --filter "ancestor=$$image")" ] || docker image rm "$$image"; \
	done

clean: ## remove the Python environment, the site and the caches in this folder; results and the guest kernel stay
	rm -rf .venv build/site .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis *.egg-info
