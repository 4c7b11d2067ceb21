"""The records in the files of a run folder. Writers and readers share one declaration of each record."""

RUN_FORMAT = 3
"""The format of run folders. Folders of other formats are not read."""
