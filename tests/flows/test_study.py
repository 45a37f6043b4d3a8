"""A study on a lake that changes around it: what is asked is scored, and what was scored stays as it was."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from sample_chats import write_conversations

import memlake.transforms.evaluate.stages
from memlake.flows.forget import forget
from memlake.flows.ingest import ingest
from memlake.flows.run.settings import ForgetSettings, IngestSettings, StudySettings
from memlake.flows.study import run_study
from memlake.transforms.base.errors import EmbedderMismatchError, LakeConflictError, NotFoundError
from memlake.transforms.base.sql import sql_file
from memlake.transforms.embed import catalogue
from memlake.transforms.embed.static import load_static
from memlake.transforms.evaluate.corpus import search_corpus
from memlake.transforms.evaluate.inputs import each_once, questions_of
from memlake.transforms.evaluate.means import means
from memlake.transforms.evaluate.search import SearchSettings, search
from memlake.transforms.lake.query.connect import connect
from memlake.transforms.lake.query.statement import fetch
from memlake.transforms.lake.storage.lake import open_lake
from memlake.transforms.study.parse import parse_study

LABELS = ("official", "corrected")
CODES = ("1234", "2234", "3234")


def conversation(number: int, **labels: object) -> dict[str, object]:
    """Two turns, two questions under two label sets whose categories differ, and notes that kept less."""
    name, code = f"c{number}", CODES[number]
    questions = [
        {
            "question_id": f"q{place}",
            "text": text,
            "answer": answer,
            "category": category if label_set == "official" else f"{category}, corrected",
            "label_set": label_set,
            "evidence": [f"t{place}"],
        }
        for place, (text, answer, category) in enumerate(
            [("Which code has the gate?", code, "code"), ("Which colour have the shoes?", "running blue", "colour")]
        )
        for label_set in LABELS
    ]
    return {
        "conversation_id": name,
        "turns": [
            {"turn_id": "t0", "text": f"The gate code is {code}.", "speaker": "Ana", "session_at": "2024-05-06T09:00"},
            {"turn_id": "t1", "text": "Running shoes are blue.", "speaker": "Bo", "session_at": "2024-05-06T09:00"},
        ],
        "questions": [question | labels for question in questions],
        "units": [{"representation": "notes", "text": "There are shoes.", "turn_ids": ["t1"]}],
    }


def study_file(
    path: Path, *, cells: tuple[str, ...] = ("turns", "notes"), plan: str = "lexical", more: str = ""
) -> str:
    head = f'name = "mine"\ncorpus = "c"\n{more}\n[cutoffs]\ntokens = [1, 100]\nk = [1]\n'
    path.write_text(
        head + "".join(f'[[cells]]\nname = "{c}"\nrepresentations = ["{c}"]\nplan = "{plan}"\n' for c in cells)
    )
    return str(path)


def land(lake: str, *conversations: dict[str, object]) -> str:
    """Ingest conversations; the snapshot that is the newest then."""
    source = write_conversations(Path(lake).parent / "chats.jsonl", list(conversations))
    ingest(IngestSettings(lake, "c", (str(source),), representations=("turns",)))
    return open_lake(lake).snapshot().snapshot_id


@pytest.fixture(scope="module")
def made_lake(tmp_path_factory: pytest.TempPathFactory) -> str:
    lake = str(tmp_path_factory.mktemp("study") / "lake")
    land(lake, *map(conversation, range(3)))
    return lake


@pytest.fixture
def lake(made_lake: str, tmp_path: Path) -> str:
    """A copy of a lake of three conversations, six questions under two label sets."""
    return str(shutil.copytree(made_lake, tmp_path / "lake"))


@pytest.fixture
def run(lake: str, tmp_path: Path) -> dict[str, object]:
    """A run of a study of two cells on that lake."""
    return run_study(StudySettings(lake, study_file(tmp_path / "study.toml")))


def rows_of(lake: str, run: dict[str, object], *, by: str | None = None) -> list[dict[str, object]]:
    return means(lake, "latest", str(run["run_id"]), by=by)["means"]


def lost(lake: str, run: dict[str, object]) -> list[dict[str, object]]:
    values = {"run_id": str(run["run_id"]), "representation": "notes", "against": "turns", "tokens": "100"}
    with connect(open_lake(lake)) as connection:
        return fetch(connection, sql_file("reports", "lost-only-as-observations").text, values).to_pylist()


def survival(lake: str, run: dict[str, object]) -> dict[tuple[object, ...], object]:
    wanted = ("answer_survival_share", "store_survival_share")
    return {
        (row["cell"], row["metric"], row["cutoff_kind"], row["cutoff"]): row["mean"]
        for row in rows_of(lake, run)
        if row["metric"] in wanted and row["cell"] == "turns" and row["label_set"] == "official"
    }


def test_answers_have_the_tokens_of_the_study_s_language_like_contexts_and_stores(lake: str, tmp_path: Path):
    found = {}
    for language in ("english", "other"):
        study = study_file(tmp_path / f"{language}.toml", more=f'language = "{language}"')
        found[language] = survival(lake, run_study(StudySettings(lake, study)))
    at_100, stored = ("turns", "answer_survival_share", "tokens", 100), ("turns", "store_survival_share", "none", 0)
    assert found["english"][at_100] == found["english"][stored] == 1.0
    assert found["other"] == found["english"]


def test_only_labels_that_were_asked_are_scored(lake: str, tmp_path: Path):
    study = study_file(tmp_path / "s.toml", more='categories = ["code", "colour, corrected"]')
    run = run_study(StudySettings(lake, study))
    assert run["questions"] == 6
    found = {
        (row["label_set"], row["category"], row["n"] + row["excluded"]) for row in rows_of(lake, run, by="category")
    }
    assert found == {("official", "code", 3), ("corrected", "colour, corrected", 3)}


def change_labels(lake: str) -> None:
    land(lake, *(conversation(n, category="new", answer="purple dinosaur", text="What?") for n in range(3)))


def drop_questions(lake: str) -> None:
    land(lake, *(conversation(n) | {"questions": []} for n in range(3)))


def change_turns(lake: str) -> None:
    made = [conversation(n) for n in range(3)]
    for talk in made:
        talk["turns"][1]["text"] = "Shoes are for walking."
    land(lake, *made)


@pytest.mark.parametrize("change", [change_labels, drop_questions, change_turns])
def test_what_becomes_of_the_questions_changes_no_mean_slice_or_report(
    lake: str, run: dict[str, object], change: Callable[[str], None]
):
    before = [rows_of(lake, run), rows_of(lake, run, by="category")]
    shown = lost(lake, run)
    change(lake)
    assert [rows_of(lake, run), rows_of(lake, run, by="category")] == before
    assert all(row["n"] + row["excluded"] == run["questions"] for row in before[0])
    assert {row["category"] for row in before[1]} == {"code", "colour", "code, corrected", "colour, corrected"}
    decoration = {"question", "answer"}
    plain = [
        [{k: v for k, v in row.items() if k not in decoration} for row in rows] for rows in (shown, lost(lake, run))
    ]
    assert plain[0] == plain[1]
    assert len(shown) == 6
    with connect(open_lake(lake), str(run["snapshot_id"])) as connection:
        sliced = fetch(connection, "select sum(n + excluded)::int as n from survival_by_category", {})
    with connect(open_lake(lake)) as connection:
        assert fetch(connection, "select sum(n + excluded)::int as n from survival_by_category", {}) == sliced


def test_questions_that_were_forgotten_since_are_counted_beside_the_means(lake: str, run: dict[str, object]):
    forget(ForgetSettings(lake, "c", "c1"))
    found = means(lake, "latest", str(run["run_id"]))
    assert (found["questions"], found["forgotten"]) == (6, 2)
    assert all(row["n"] + row["excluded"] + found["forgotten"] == 6 for row in found["means"])
    assert means(lake, str(run["snapshot_id"]), str(run["run_id"]))["forgotten"] == 0


def test_a_study_of_an_older_snapshot_leaves_out_what_was_forgotten_since(lake: str, tmp_path: Path):
    old = open_lake(lake).snapshot().snapshot_id
    forget(ForgetSettings(lake, "c", "c1"))
    run = run_study(StudySettings(lake, study_file(tmp_path / "s.toml"), at=old))
    assert (run["questions"], run["excluded"]["forgotten"], run["read_snapshot_id"]) == (4, 2, old)
    snapshot = open_lake(lake).snapshot()
    for table in ("retrievals", "contexts", "scores"):
        held = pc.unique(snapshot.read(table, columns=["conversation_id"])["conversation_id"])
        assert sorted(held.to_pylist()) == ["c0", "c2"], table
    for name in ("c0", "c2"):
        forget(ForgetSettings(lake, "c", name))
    with pytest.raises(NotFoundError, match="the conversations of all 6 questions"):
        run_study(StudySettings(lake, study_file(tmp_path / "s.toml"), at=old))


def test_a_conversation_forgotten_while_it_is_read_stops_the_study(lake: str, tmp_path: Path, monkeypatch):
    evaluate = memlake.transforms.evaluate.stages.evaluate

    def meanwhile(*arguments, **settings):
        forget(ForgetSettings(lake, "c", "c1"))
        return evaluate(*arguments, **settings)

    monkeypatch.setattr(memlake.transforms.evaluate.stages, "evaluate", meanwhile)
    with pytest.raises(LakeConflictError, match="conversation='c1' of corpus='c' was forgotten"):
        run_study(StudySettings(lake, study_file(tmp_path / "s.toml")))
    latest = open_lake(lake).snapshot()
    assert latest.operation == "forget"
    assert latest.read("scores").num_rows == 0


@pytest.fixture
def others_lake(tmp_path: Path, monkeypatch) -> str:
    """A lake whose vectors another revision of the model made."""
    other = load_static()
    other.card = replace(other.card, revision="another")
    lake = str(tmp_path / "others" / "lake")
    Path(lake).parent.mkdir()
    with monkeypatch.context() as patch:
        patch.setitem(catalogue._loaded, "static", other)
        land(lake, *map(conversation, range(2)))
    return lake


def test_vectors_of_another_revision_are_searched_by_nobody(others_lake: str, tmp_path: Path):
    says = "revision='another' stored"
    with pytest.raises(EmbedderMismatchError, match=says) as caught:
        run_study(StudySettings(others_lake, study_file(tmp_path / "s.toml", plan="hybrid")))
    assert caught.value.hint == "memlake embed --embedder static --corpus c --representations notes"
    with pytest.raises(EmbedderMismatchError, match=says):
        search(SearchSettings(others_lake, "shoes", "c", representation="turns"))
    assert open_lake(others_lake).snapshot().operation == "ingest"
    lexical = run_study(StudySettings(others_lake, study_file(tmp_path / "s.toml")))
    assert lexical["questions"] == 4
    assert search(SearchSettings(others_lake, "shoes", "c", representation="turns", plan="lexical")).rows


def test_a_study_is_searched_cell_by_cell_and_tells_each_store_s_tokens_once(lake: str, tmp_path: Path):
    text = Path(study_file(tmp_path / "s.toml")).read_text()
    both = '[[cells]]\nname = "both"\nrepresentations = ["notes", "turns"]\nplan = "lexical"\n'
    study = parse_study(text + both, source="s")
    snapshot = open_lake(lake).snapshot()
    (corpus,) = study.corpora
    questions = each_once(questions_of(snapshot, study, corpus))
    found = list(search_corpus(snapshot, study, corpus, "r", questions, None))
    cells = [pc.unique(searched.found.contexts["cell"]).to_pylist() for searched in found]
    assert cells == [["turns"], ["notes"], ["both"]] * 3
    tokens = pa.concat_tables([searched.unit_tokens for searched in found])
    assert tokens.group_by(tokens.column_names).aggregate([]).num_rows == tokens.num_rows
    assert set(tokens["representation"].to_pylist()) == {"turns", "notes"}


def test_a_search_says_how_many_conversations_it_could_not_search(lake: str):
    whole = search(SearchSettings(lake, "shoes", "c", representation="notes", plan="lexical"))
    assert (whole.conversations, whole.without_units) == (3, 0)
    land(lake, conversation(1) | {"units": []}, conversation(2) | {"turns": [{"text": "Changed."}], "units": []})
    part = search(SearchSettings(lake, "shoes", "c", representation="notes", plan="lexical"))
    assert (part.conversations, part.without_units) == (3, 1)
    narrowed = search(SearchSettings(lake, "shoes", "c", representation="notes", plan="lexical", conversation="c0"))
    assert (narrowed.conversations, narrowed.without_units) == (1, 0)
