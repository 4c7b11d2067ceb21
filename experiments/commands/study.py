"""Studies: each compares experiments, and fills the marked places of its document with the results."""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from priolab.analysis.reports.markdown import with_places, without_marks
from priolab.common.documents import check_document, write_document
from priolab.common.exit_codes import exit_code
from priolab.common.home import ROOT
from priolab.common.process.scratch import scratch_folder
from priolab.experiments.commands.console import Report
from priolab.experiments.execution.request import Arm


@dataclass(frozen=True, kw_only=True)
class Findings:
    """The results of a study.

    places: the text of each marked place of the document, by name. beside: the files that belong beside the document,
    by name. holds: False if the results contradict what the lab claims.
    """

    places: Mapping[str, str]
    beside: Mapping[str, bytes] = field(default_factory=dict)
    holds: bool = True


@dataclass(frozen=True, kw_only=True)
class Study:
    """A study. name: that of its document, docs/measured/NAME.md. step: names the study in errors.

    measure: runs the experiments, in a folder for results that is removed afterwards. Raises LabError.
    arms: returns the arms of all experiments of a study that has several, so that their programs are looked for before
    the first one is measured.
    """

    name: str
    step: str
    measure: Callable[[Path, Report], Findings]
    arms: Callable[[], Iterable[Arm]] = tuple

    def add_to(self, parser: ArgumentParser) -> None:
        """Adds the options of the study's command to its parser."""
        parser.add_argument("file", type=Path, help="the document to write; its pictures go into the same folder")
        parser.set_defaults(do=self._do)

    def _do(self, options: Namespace, report: Report) -> int:
        from priolab.testbed import keep_guests  # only commands that make runs need it

        with keep_guests():
            return exit_code(ok=self.write(options.file, report))

    def write(self, path: Path, report: Report) -> bool:
        """Measures, writes the document and the files beside it, and prints the document. Raises LabError.

        path: the file to write. Returns False if the results contradict what the lab claims.
        """
        from priolab.experiments.commands.checked_run import check_programs

        check_document(path, self.step)
        check_programs(self.arms())
        with scratch_folder(f"priolab-{self.name}-") as results:
            found = self.measure(results, report)
        text = filled_document(self.name, found.places)
        for name, content in {path.name: text.encode(), **found.beside}.items():
            write_document(path.with_name(name), content, self.step)
        report.say(without_marks(text))
        return found.holds


def document_of(name: str) -> str:
    """Returns the text of docs/measured/NAME.md; an empty text in an installed lab, which has no documents."""
    file = ROOT / "docs" / "measured" / f"{name}.md"
    return file.read_text() if file.exists() else ""


def filled_document(name: str, texts: Mapping[str, str]) -> str:
    """Returns docs/measured/NAME.md with these texts in its marked places; in an installed lab the marked places alone.

    Raises ValueError if the document has other places.
    """
    marks = "\n".join(f"<!-- measured: {place} -->\n<!-- end -->\n" for place in texts)
    return with_places(document_of(name) or marks, texts)
