"""The executor on many machines: runs as tasks of Dask distributed, on workers that the user has started."""
