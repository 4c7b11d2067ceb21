.PHONY: notebook notebook-outputs

notebook: ## open the notebooks in JupyterLab (installed at first use)
	@experiments/setup/setup.sh notebook
	@.venv/bin/jupyter-lab --ip=127.0.0.1 --ServerApp.root_dir=extras/notebooks $(if $(filter 0,$(shell id -u)),--allow-root)

notebook-outputs: ## execute the notebooks and store them with their outputs (two minutes)
	@experiments/setup/setup.sh test TESTS=notebooks
	@.venv/bin/python -m priolab.extras.notebooks.tests.notebooks
