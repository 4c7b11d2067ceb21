.PHONY: matrix late

matrix_folder := $(if $(filter-out REUSE=% RESULTS=%,$(PRIOLAB_KNOBS)),$(or $(RESULTS),results),docs/measured)
matrix: setup-matrix ## measure which servers and versions keep the order, in each dialect; writes docs/measured/matrix.md, .html and .json (with SERVER=...: results/matrix.md)
	@$(PRIOLAB) matrix --from-make $(matrix_folder)/matrix.md

late: setup-matrix ## measure late urgent requests, and equal urgencies, at servers that follow RFC 9218; writes docs/measured/late-urgent.md and .json (two minutes)
	@$(PRIOLAB) late docs/measured/late-urgent.md
