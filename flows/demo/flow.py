"""The demo as one flow: ingest the built-in transcripts, measure three representations of them, say what was lost."""

from dataclasses import asdict, dataclass

from flows.demo import CORPUS, REPRESENTATIONS, STUDY, TRANSCRIPTS
from flows.demo.findings import find
from flows.ingest import ingest
from flows.settings import IngestSettings
from flows.study import StudySettings, run_study
from transforms.lake.lake import open_lake


@dataclass(frozen=True)
class DemoSettings:
    """What `memlake demo` is told."""

    lake: str
    quiet: bool = True


def demo(settings: DemoSettings) -> dict[str, object]:
    """Run the demo; the document of `memlake demo --json`: the two runs, the table and the lost example."""
    ingested = ingest(
        IngestSettings(
            lake=settings.lake,
            corpus=CORPUS,
            sources=(str(TRANSCRIPTS),),
            representations=REPRESENTATIONS,
            quiet=settings.quiet,
        )
    )
    measured = run_study(StudySettings(lake=settings.lake, study=STUDY, corpus=(CORPUS,)))
    found = find(open_lake(settings.lake), str(measured["run_id"]))
    return {"lake": settings.lake, "ingest": ingested, "study": measured, **asdict(found)}
