"""What a run records of its cells: every setting that decides what a cell retrieves and answers."""

from dataclasses import asdict

import pyarrow as pa

from memlake.schemas import CELLS
from memlake.schemas.table import settings_json
from memlake.transforms.answer.spec import ReaderSpec
from memlake.transforms.base.ids import content_id
from memlake.transforms.llm.prompting import prompt
from memlake.transforms.retrieve.cell import Cell
from memlake.transforms.study.study import Study, StudyCell, StudyCorpus


def runnable(study: Study, cell: StudyCell, run_id: str) -> Cell:
    """One of its cells, as `run_cell` takes it."""
    return Cell(
        run_id,
        cell.name,
        cell.plan,
        study.tokeniser,
        study.cutoffs_of(cell),
        depth=study.depth,
        texts=study.texts_of(cell),
    )


def cell_rows(study: Study, corpus: StudyCorpus, *, run_id: str, read_snapshot_id: str, provider: str = "") -> pa.Table:
    """Rows of the cells schema: each cell of the study that runs on a corpus.

    Args:
        provider: whose server the readers ask.
    """
    rows: list[dict[str, object]] = []
    for cell in study.cells_of(corpus.name):
        reader, plan = study.reader_of(cell), cell.plan.tables()
        settings = {
            "corpus": corpus.name,
            "representations": list(cell.representations),
            "embedder": study.embedder_of(cell),
            "plan": plan,
            "reader": _reader_settings(reader, provider),
            "tokeniser": study.tokeniser,
            "language": corpus.language,
            "depth": study.depth,
        }
        rows.append(
            {
                "run_id": run_id,
                "cell": cell.name,
                "study": study.name,
                "corpus": corpus.name,
                "representations": list(cell.representations),
                "embedder": study.embedder_of(cell),
                "plan": settings_json(plan),
                "reader": cell.reader,
                "tokeniser": study.tokeniser,
                "settings": (text := settings_json(settings)),
                "settings_hash": content_id(text),
                "read_snapshot_id": read_snapshot_id,
            }
        )
    return CELLS.rows(rows)


def _reader_settings(reader: ReaderSpec | None, provider: str) -> dict[str, object] | None:
    if reader is None:
        return None
    if not reader.asks_model:
        return {"name": reader.name, "kind": reader.kind}
    return asdict(reader) | {"provider": provider, "prompt_text": content_id(prompt(reader.prompt))}
