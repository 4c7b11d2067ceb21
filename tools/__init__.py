"""Tools of the project: benches, pictures, tables. They are not part of the distribution."""
