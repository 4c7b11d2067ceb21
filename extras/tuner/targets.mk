.PHONY: tuner tuner-bed tuner-deb tuner-kills tuner-machines tuner-scale tuner-suites

tuner: environment ## build the tuner as one static program: build/priority-tuner (fetches a Go toolchain and two Go modules)
	@.venv/bin/python -m priolab.extras.tuner.program

tuner-suites: setup-lint ## install and start the tuner's package in bare Debian 12, 13 and sid with systemd (needs root and debootstrap; some minutes; SUITE=trixie: one)
	@.venv/bin/python -m priolab.extras.tuner.tests.suites $(SUITE)

tuner-deb: environment ## pack the tuner for Debian: build/priority-tuner_*.deb (needs dpkg-deb)
	@.venv/bin/python -m priolab.extras.tuner.debian_package

tuner-bed: setup ## measure the tuner's values and the waits of ten connections of 20 Mbit/s that always have data (needs root; a minute)
	@.venv/bin/python -m priolab.extras.tuner.bed

tuner-kills: setup-core-tests ## start and end priority-tuner 1,000 times, and kill it 200 times under load; writes a table of RELIABILITY.md (needs root; some minutes; KILLS=20: fewer)
	@.venv/bin/python -m priolab.extras.tuner.tests.kills $(or $(KILLS),200)

tuner-machines: setup-core-tests ## check the tuner in emulated machines with the kernels of Debian 11, 12, 13 and sid; writes tables of RELIABILITY.md and docs/guide/tuner.md (needs root, debootstrap, qemu-system-x86, cpio, clang and llvm; an hour; SUITE=trixie: this one anew)
	@.venv/bin/python -m priolab.extras.tuner.tests.machines $(SUITE)

tuner-scale: setup tuner build/crowd ## measure the tuner with 16,000 connections; writes docs/measured/tuner-scale.md (needs root; seven minutes)
	@$(PRIOLAB) tuner-scale docs/measured/tuner-scale.md

build/crowd: $(wildcard extras/tuner/crowd/*) | environment
	@.venv/bin/python -m priolab.extras.tuner.crowd_program
