"""The records in the files of a run folder. Writers and readers share one declaration of each record."""

RUN_FORMAT = 3
"""The number of the format of run folders. Folders with another number are not read."""
