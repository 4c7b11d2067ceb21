"""Places as network namespaces of the kernel that runs the lab's code, the host's or a guest's."""
