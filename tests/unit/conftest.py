"""Property tests here are repeatable: the same examples in every run, however slow or fast the machine."""

from hypothesis import settings

settings.register_profile("unit", deadline=None, derandomize=True, database=None)
settings.load_profile("unit")
