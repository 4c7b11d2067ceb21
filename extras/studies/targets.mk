.PHONY: agreement auto cost link myths sabotage service transition two-hops traces

agreement: setup ## compare the fabrics that work on this machine; writes docs/measured/agreement.md (about 15 minutes)
	@$(PRIOLAB) agreement docs/measured/agreement.md

auto: setup-compared ## measure LOWAT=auto on every network, new connections and changing rates; writes docs/measured/auto.md (about half an hour)
	@$(PRIOLAB) auto docs/measured/auto.md

cost: ## measure what LOWAT costs three servers; writes docs/measured/cost.md and its picture (about 20 minutes)
	@experiments/setup/setup.sh cost SERVER=nginx,h2o,caddy
	@$(PRIOLAB) cost docs/measured/cost.md

link: setup ## measure the bottleneck's queueing disciplines, alone and beside a bulk flow; writes docs/measured/link.md (two minutes)
	@$(PRIOLAB) link docs/measured/link.md

myths: ## test beliefs about TCP_NOTSENT_LOWAT; writes docs/measured/myths.md and its pictures (four minutes, the first time two builds of a guest kernel more)
	@experiments/setup/setup.sh SERVER=nginx,h2o,traefik,traefik-h3,envoy-h3
	@$(PRIOLAB) myths docs/measured/myths.md

sabotage: setup ## measure the scenarios that spoil the effect, and their cures; writes docs/measured/sabotage.md (half a minute)
	@$(PRIOLAB) sabotage docs/measured/sabotage.md

service: ## compare predicted and measured costs of LOWAT to servers whose work takes time; writes docs/measured/service.md (two minutes)
	@experiments/setup/setup.sh SERVER=nginx,h2o,caddy
	@$(PRIOLAB) service docs/measured/service.md

transition: setup-chromium setup-firefox setup-webkit ## measure today's browsers at fronts that read RFC 7540 and RFC 9218; writes docs/measured/transition.md (a quarter to half an hour)
	@experiments/setup/setup.sh SERVER=nginx@bookworm,h2o@bookworm,nghttpx@bookworm,nghttpx@sid,apache@bookworm,apache@sid,lighttpd@sid,node@sid,go
	@$(PRIOLAB) transition docs/measured/transition.md

two-hops: ## measure two fronts, one behind the other, with LOWAT at each; writes docs/measured/two-hops.md and its pictures (one minute)
	@experiments/setup/setup.sh SERVER=nginx,h2o,caddy,haproxy
	@$(PRIOLAB) two-hops docs/measured/two-hops.md

traces: setup ## measure LOWAT=auto on synthetic traces; writes docs/measured/traces.md (two minutes)
	@$(PRIOLAB) traces docs/measured/traces.md
