"""What a study reads of a corpus: the questions that it asks, the conversations in groups, and the tables of each."""

import json
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from memlake.schemas import TABLES
from memlake.transforms.base.errors import NotFoundError
from memlake.transforms.lake.storage.parts import UNITS_PART
from memlake.transforms.lake.storage.snapshot import Snapshot
from memlake.transforms.represent.catalogue import REPRESENTATIONS, kind_named
from memlake.transforms.retrieve.steps.step import Scope
from memlake.transforms.study.study import Study, StudyCell, StudyCorpus
from memlake.transforms.text.content_tokens import Language, content_tokens_of


def conversation_groups(
    snapshot: Snapshot, corpus: str, representations: Sequence[str], questions: pa.Table, most: int
) -> Iterator[list[str]]:
    """Conversations of the questions, in groups of about `most` units of these representations.

    Raises:
        NotFoundError: a conversation lacks a representation.
    """
    names = pc.unique(questions["conversation_id"])
    where = (pc.field("corpus") == corpus) & pc.field("conversation_id").isin(names)
    parts = snapshot.read("parts", columns=["conversation_id", "part", "rows"], where=where)
    counts: dict[str, dict[str, int]] = {}
    for name, part, rows in zip(*(column.to_pylist() for column in parts.columns), strict=True):
        counts.setdefault(name, {})[part] = rows
    wanted = {UNITS_PART.named(name): name for name in representations}
    group: list[str] = []
    size = 0
    for name in names.to_pylist():
        missing = [of_part for part, of_part in wanted.items() if part not in counts.get(name, {})]
        if missing:
            representation = missing[0]
            raise NotFoundError(
                f"conversation={name!r} of corpus={corpus!r} has no units of representation={representation!r}",
                hint=_command_that_makes(representation, corpus, snapshot),
            )
        size += sum(counts[name][part] for part in wanted)
        group.append(name)
        if size >= most:
            yield group
            group, size = [], 0
    if group:
        yield group


def _command_that_makes(name: str, corpus: str, snapshot: Snapshot) -> str:
    """The command that gives conversations a representation: with the settings it is stored with, or from a source."""
    kind = kind_named(name)
    if kind is None:
        return f"its units come from a source: memlake ingest SOURCE --corpus {corpus}, with one that supplies {name}"
    stored = snapshot.read("representations", columns=["settings"], where=pc.field("representation") == name)
    defaults = REPRESENTATIONS[kind].defaults
    settings = json.loads(stored["settings"][0].as_py()) if stored.num_rows else {}
    other = ",".join(f"{key}={value}" for key, value in settings.items() if value != defaults.get(key))
    return f"memlake represent {name}{':' if other else ''}{other} --corpus {corpus}"


def representations_of(cells: Sequence[StudyCell]) -> list[str]:
    """The representations that any of the cells searches, by name."""
    return sorted({name for cell in cells for name in cell.representations})


def reads_of(cells: Sequence[StudyCell]) -> frozenset[str]:
    """The tables that any of the cells' plans reads beside units."""
    return frozenset[str]().union(*(cell.plan.reads for cell in cells))


def read_tables(
    snapshot: Snapshot, corpus: str, cells: Sequence[StudyCell], conversations: Sequence[str]
) -> dict[str, dict[str, pa.Table]]:
    """Units, and every table that a plan reads beside them, of the representations that need them: rows by conversation."""
    tables = {}
    for name in ("units", *sorted(reads_of(cells))):
        where = (pc.field("corpus") == corpus) & pc.field("conversation_id").isin(list(conversations))
        if "representation" in TABLES[name].schema.names:
            readers = [cell for cell in cells if name == "units" or name in cell.plan.reads]
            where &= pc.field("representation").isin(representations_of(readers))
        rows = snapshot.read(name, where=where)
        tables[name] = {of: rows.filter(pc.equal(rows["conversation_id"], of)) for of in conversations}
    return tables


def check_beside(snapshot: Snapshot, corpus: str, cells: Sequence[StudyCell], conversations: Sequence[str]) -> None:
    """Refuse a plan of which a step lacks what it goes by: links, gold turns.

    Raises:
        NotFoundError: it is not stored for a conversation that is asked about, or for the corpus.
    """
    steps = dict.fromkeys((step, cell.representations) for cell in cells for step in cell.plan.steps)
    for step, representations in steps:
        step.check_stored(Scope(snapshot, corpus, representations, conversations))


def questions_of(snapshot: Snapshot, study: Study, corpus: StudyCorpus) -> pa.Table:
    """The rows of questions that a study asks of a corpus and scores, one a question and label set, in its language.

    Raises:
        NotFoundError: the corpus has no questions, or none of the study's label sets or categories.
    """
    stored = snapshot.read("questions", where=pc.field("corpus") == corpus.name)
    if not stored.num_rows:
        raise NotFoundError(
            f"corpus={corpus.name!r} has no questions in snapshot={snapshot.snapshot_id}, and study={study.name!r} asks some",
            hint="memlake ingest BENCHMARK --corpus NAME, or questions in memlake's own JSONL",
        )
    return labelled_questions(
        stored, label_sets=corpus.label_sets, categories=corpus.categories, language=corpus.language
    )


def labelled_questions(
    questions: pa.Table,
    *,
    label_sets: Sequence[str] = (),
    categories: Sequence[str] = (),
    language: Language = "english",
) -> pa.Table:
    """The rows that a study asks and scores: its label sets and categories, with answer tokens in its language.

    Args:
        questions: rows of the questions schema, whose answer_tokens are English ones.
        label_sets: only rows of these; empty for all.
        categories: only rows of these; empty for all.
        language: how contexts and stores are stemmed, and so answers too.

    Raises:
        NotFoundError: no question has one of the label sets or categories.
    """
    for column, wanted in (("label_set", label_sets), ("category", categories)):
        there = pc.unique(questions[column]).to_pylist()
        if missing := [name for name in wanted if name not in there]:
            raise NotFoundError(
                f"no question has {column}={missing[0]!r}: there are {', '.join(sorted(there)) or 'none'}",
                hint="memlake sql --file corpus-overview",
            )
        if wanted:
            questions = questions.filter(pc.is_in(questions[column], value_set=pa.array(wanted, pa.string())))
    tokens = content_tokens_of(pc.fill_null(questions["answer"], ""), language=language, distinct=True)
    place = questions.schema.get_field_index("answer_tokens")
    return questions.set_column(place, questions.schema.field(place), tokens)


def each_once(questions: pa.Table) -> pa.Table:
    """Each question once, whatever the number of label sets that label it, ordered by conversation and position."""
    ordered = questions.sort_by(
        [(name, "ascending") for name in ("corpus", "conversation_id", "position", "question_id", "label_set")]
    )
    place = pa.array(range(ordered.num_rows), pa.int64())
    first = ordered.append_column("place", place).group_by(["corpus", "question_id"]).aggregate([("place", "min")])
    return ordered.take(first["place_min"].sort())
