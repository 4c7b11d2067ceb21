"""What is built on the lab, and can be taken away from it: each package has a file extra.toml, and its own tests."""
