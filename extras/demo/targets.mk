.PHONY: setup-demo demo slides animation explanation-pictures recorded explore sequences

# For a talk: a step of the story compares nginx with HAProxy. Without it the page shows the films that were recorded before.
setup-demo:
	@experiments/setup/setup.sh demo SERVER=nginx,haproxy

demo: ## serve a web page to this machine that runs experiments and plays them as films
	@experiments/setup/setup.sh demo -- demo --from-make

slides: setup-demo ## write the demo's story as one HTML file and as pictures, for talks without the demo: results/slides
	@$(PRIOLAB) slides --from-make

animation: ## record docs/demo.webp, the film in README.md
	@experiments/setup/setup.sh test TESTS=demo SERVER=nginx,haproxy CLIENT=chromium
	@.venv/bin/python -m priolab.extras.demo.animation docs/demo.webp

explanation-pictures: ## make anew the pictures of docs/explore.html: README.md's first, that for links to the page, and the decision's
	@experiments/setup/setup.sh test TESTS=demo CLIENT=chromium
	@.venv/bin/python -m priolab.extras.demo.pictures

recorded: setup-demo ## record anew the films of docs/explore.html, two of which the demo shows before its first run
	@.venv/bin/python -m priolab.extras.demo.recording record

explore: setup ## make docs/explore.html anew from the films in the tree, after a change of the page
	@.venv/bin/python -m priolab.extras.demo.recording

sequences: ## try 500 random sequences of inputs on the demo's page, which may show no wrong film, and its sizes (a quarter of an hour; RUNS=50: fewer)
	@experiments/setup/setup.sh test TESTS=demo
	@PRIOLAB_SEQUENCES=$(or $(RUNS),500) .venv/bin/pytest -q -rP extras/demo/tests/lab/test_demo_wishes.py \
		extras/demo/tests/lab/test_explanation*.py -k "sequences or gets_through"
