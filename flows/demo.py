"""The demo as one flow: ingest the built-in transcripts, measure three representations of them, say what was lost."""

from dataclasses import asdict
from pathlib import Path

from memlake.flows.ingest import ingest
from memlake.flows.run.settings import DemoSettings, IngestSettings, StudySettings
from memlake.flows.study import run_study
from memlake.transforms.evaluate.demo_findings import CORPUS, REPRESENTATIONS, STUDY, find
from memlake.transforms.lake.storage.lake import open_lake

# Written for the demo, with planted facts and questions.
TRANSCRIPTS = Path(__file__).parent / "samples" / "transcripts.jsonl"


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
