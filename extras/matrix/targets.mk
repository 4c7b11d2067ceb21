.PHONY: matrix matrix-page late

matrix_folder := $(if $(filter-out REUSE=% RESULTS=%,$(PRIOLAB_KNOBS)),$(or $(RESULTS),results),docs/measured)
matrix: setup-matrix ## measure which servers and versions keep the order, in each dialect; writes docs/measured/matrix.md and .json, and build/matrix.html (with SERVER=...: results/matrix.md, .json and .html)
	@$(PRIOLAB) matrix --from-make $(matrix_folder)/matrix.md

matrix-page: environment ## write build/matrix.html, the page of docs/measured/matrix.json that sorts and filters
	@.venv/bin/python -m priolab.extras.matrix.matrix_files

late: setup-matrix ## measure late urgent requests, and equal urgencies, at servers that follow RFC 9218; writes docs/measured/late-urgent.md and .json (two minutes)
	@$(PRIOLAB) late docs/measured/late-urgent.md
