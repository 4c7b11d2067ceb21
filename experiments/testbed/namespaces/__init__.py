"""Places as network namespaces of the kernel that this runs on, the host's or a guest's."""
