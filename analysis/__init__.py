"""Evaluates run folders: measures, verdicts, reports, figures. Of the lab's packages it imports only `common`."""
