.PHONY: reproduce

reproduce: $(if $(filter FABRIC=compose,$(MAKEOVERRIDES)),environment,setup) ## repeat the article's measurements and compare: results/reproduction (about a minute)
	@$(PRIOLAB) reproduce --from-make
