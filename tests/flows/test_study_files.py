"""The studies that come with memlake: the commands that head each file make all that it asks for, and every cell runs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from openai_server import OpenAIServer

from memlake.flows.cli.main import run
from memlake.flows.run.settings import StudySettings
from memlake.transforms.lake.query.connect import connect
from memlake.transforms.lake.storage.lake import open_lake
from memlake.transforms.study.parse import find_study, study_names, study_path

# The ones whose commands need a file that is nobody's to copy: the Parquet files of an extraction by others.
OTHERS = {"locomo-artifacts", "demo"}
CAST = ("Ana", "Ben")
LINES = (
    "I decided to rent the flat in Delft from 3 May 2023.", "My sister Eva moved to Oslo last week.",
    "We prefer the early train.", "Remember to call the plumber tomorrow.", "The cat is called Pip and sleeps all day.",
    "I bought a red kite yesterday.", "The meeting is on Friday except in June.", "Ben never eats shrimp.",
)  # fmt: skip


def small_locomo(path: Path) -> Path:
    """Two conversations in LoCoMo's own layout, with a question of each category, observations and a caption."""
    talks = []
    for number in range(2):
        sessions = {}
        for session in (1, 2):
            turns = [
                {"speaker": CAST[place % 2], "dia_id": f"D{session}:{place + 1}", "text": f"{line} ({number})"}
                for place, line in enumerate(LINES)
            ]
            turns[2]["blip_caption"] = "a photo of a station"
            sessions |= {
                f"session_{session}": turns,
                f"session_{session}_date_time": f"1:56 pm on {session + 7} May, 2023",
            }
        qa = [
            {"question": "What is the cat called?", "answer": "Pip", "evidence": ["D1:5"], "category": 1},
            {"question": "When did Ana buy the kite?", "answer": "7 May 2023", "evidence": ["D1:6"], "category": 2},
            {"question": "Does Ben like shrimp?", "answer": "no", "evidence": ["D1:8"], "category": 3},
            {"question": "Where did Eva move?", "answer": "Oslo", "evidence": ["D1:2"], "category": 4},
            {"question": "Which zeppelin?", "adversarial_answer": "red", "evidence": ["D1:3"], "category": 5},
        ]
        seen = {"Ana": [["Ana has a cat called Pip.", "D1:5"]], "Ben": [["Ben eats no shrimp.", ["D1:8"]]]}
        talks.append(
            {
                "sample_id": f"conv-{number}",
                "conversation": {"speaker_a": "Ana", "speaker_b": "Ben", **sessions},
                "qa": qa,
                "observation": {"session_1_observation": seen},
            }
        )
    path.write_text(json.dumps(talks))
    return path


def small_corrections(path: Path) -> Path:
    """One answer of the first conversation mended, and its evidence."""
    row = {
        "question_id": "locomo_0_qa1", "question": "When did Ana buy the kite?", "golden_answer": "7 May 2023", "category": 2,
        "error_type": "temporal", "cited_evidence": ["D1:6"], "correct_evidence": ["D2:6"], "correct_answer": "8 May 2023",
    }  # fmt: skip
    path.write_text(json.dumps([row]))
    return path


def small_longmemeval(path: Path) -> Path:
    """Two instances in LongMemEval's own layout, one to abstain from."""
    made = []
    for name, kind, answer in (("aa11", "temporal-reasoning", "Pip"), ("bb22_abs", "single-session-user", "not told")):
        messages = [
            {"role": ("user", "assistant")[place % 2], "content": line, "has_answer": place == 4}
            for place, line in enumerate(LINES)
        ]
        made.append(
            {
                "question_id": name, "question_type": kind, "question": "What is the cat called?", "answer": answer,
                "question_date": "2023/05/30 (Tue) 23:40", "haystack_dates": ["2023/05/20 (Sat) 02:21"],
                "haystack_session_ids": ["answer_1"], "haystack_sessions": [messages], "answer_session_ids": ["answer_1"],
            }
        )  # fmt: skip
    path.write_text(json.dumps(made))
    return path


def small_beam(folder: Path) -> Path:
    """A chat in BEAM's own layout."""
    place = folder / "beam" / "1"
    place.mkdir(parents=True)
    messages = [
        {"role": ("user", "assistant")[number % 2], "id": number, "content": line} for number, line in enumerate(LINES)
    ]
    batch = {"batch_number": 1, "time_anchor": "March-15-2024", "turns": [messages]}
    asked = {"question": "What is the cat called?", "answer": "Pip", "rubric": ["Pip"], "source_chat_ids": [4]}
    (place / "chat.json").write_text(json.dumps([batch]))
    (place / "probing_questions.json").write_text(json.dumps({"information_extraction": [asked]}))
    return folder / "beam"


def commands_of(name: str) -> list[list[str]]:
    """The commands in the head of a study's file, as a shell expands them."""
    head = []
    for line in study_path(name).read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            break
        head.append(line[4:] if line.startswith("#   ") else "")
    tell = f'memlake() {{ {sys.executable} -c "import json, sys; print(json.dumps(sys.argv[1:]))" "$@"; }}\n'
    told = subprocess.run(["bash", "-euc", tell + "\n".join(head)], capture_output=True, text=True, check=True)
    return [json.loads(line) for line in told.stdout.splitlines()]


def test_every_study_says_which_commands_make_what_it_asks_for():
    for name in set(study_names()) - OTHERS:
        (*_, last) = commands_of(name) if name != "locomo-retrieval" else [["study", "run", name]]
        assert last[:3] == ["study", "run", name]


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "name",
    [
        "verbatim-vs-artifacts",
        pytest.param("verbatim-vs-artifacts-controlled", marks=pytest.mark.long),
        "locomo-defects",
        pytest.param("offline", marks=pytest.mark.long),
        pytest.param("probes-fit", marks=pytest.mark.long),
    ],
)
def test_the_commands_at_the_head_of_a_study_run_it_whole(name, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    sources = {
        "locomo10.json": small_locomo(tmp_path / "small.json"),
        "longmemeval_s_cleaned.json": small_longmemeval(tmp_path / "haystacks.json"),
        "corrections.json": small_corrections(tmp_path / "mended.json"),
        "beam100k/": small_beam(tmp_path),
    }
    with OpenAIServer(script="openai_readers:says") as server:
        asks = ["--base-url", server.url, "--model", "test-model", "--allow-dead-records", "1"]
        for command in commands_of(name):
            words = [str(sources.get(word, word)) for word in command]
            if words[0] == "represent":
                words = [word for word in words if word not in ("--model", "gpt-4o-mini", "MODEL")]
            if words[:2] in (["study", "run"], ["study", "plan"]):
                words = [word for word in words if word not in ("--model", "MODEL")]
                words += ["--embedder", "static", "--reranker", "none"]
            models = words[0] == "represent" or words[:2] == ["study", "run"]
            plans = ["--base-url", server.url, "--model", "test-model"] if words[:2] == ["study", "plan"] else []
            code = run([*words, *(asks if models else plans)])
            assert code == 0, (words, capfd.readouterr().err)
        assert server.stats().script_errors == []
    study = StudySettings("", name, embedder="static", reranker="none").applied(find_study(name).with_model("m"))
    lake = open_lake(str(tmp_path / "lake"))
    with connect(lake) as connection:
        found = set(connection.execute("select corpus, cell from contexts").fetchall())
        answered = set(connection.execute("select corpus, cell from answers").fetchall())
        compared = connection.execute(
            "select comparison from statistics where statistic = 'difference' and slice = 'all' and value is not null"
        )
        names = {row[0] for row in compared.fetchall()}
    wanted = {(corpus.name, cell.name) for corpus in study.corpora for cell in study.cells_of(corpus.name)}
    assert found == wanted
    assert answered == {(corpus, cell) for corpus, cell in wanted if study.cell(cell).reader}
    assert names == {comparison.name for comparison in study.comparisons}
