"""The hosts of an experiment as network namespaces of the kernel that runs this code, the host's or a guest's."""
