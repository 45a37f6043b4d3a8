"""Real libraries on tiny checkpoints: our numbers are FlagEmbedding's and sentence-transformers' own.

One file: importing torch and these libraries takes longer than all tests on them.
"""

import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_models
from lake_contents import assert_sound
from sample_chats import conversation, write_conversations
from small_tables import rows_of

from memlake.flows.embed import embed
from memlake.flows.ingest import ingest
from memlake.flows.run.settings import EmbedSettings, IngestSettings
from memlake.schemas import QUESTIONS, UNITS
from memlake.transforms.base.errors import NotFoundError, UsageError
from memlake.transforms.embed.catalogue import load
from memlake.transforms.embed.memo import Memo
from memlake.transforms.embed.outputs import outputs_of
from memlake.transforms.embed.reranker import load_reranker
from memlake.transforms.embed.vectors import embed_units
from memlake.transforms.lake.storage.lake import open_lake
from memlake.transforms.retrieve.cell import Cell, run_cell
from memlake.transforms.retrieve.plan import parse_plan
from memlake.transforms.retrieve.steps.seed_tokens import lexical_weights_scores, max_sim
from memlake.transforms.retrieve.steps.step import Cutoffs
from memlake.transforms.retrieve.store.store import open_store

tiny_models.needs_flag_embedding()

CLOSE = {"rtol": 0, "atol": 1e-5}
LONGEST = 64
TEXTS = [
    "the river",
    "I moved to Oslo in winter",
    "我搬到了奥斯陆。短",
    "quiet " * 100,
    "{0.__class__} %s garden lamp",
    "a",
    "unknown ☃ signs ☃",
    "line\nbreaks\r\nand\ttabs",
    *(f"letter {number} of the bridge market {'paper ' * (number % 9)}" for number in range(40)),
]


@pytest.fixture(scope="module")
def m3(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models.bge_m3(tmp_path_factory.mktemp("models") / "m3", positions=LONGEST + 2)


@pytest.fixture(scope="module")
def reranker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models.reranker(tmp_path_factory.mktemp("models") / "reranker")


@pytest.fixture(scope="module")
def direct(m3: Path) -> Any:
    """FlagEmbedding itself: all outputs of some texts."""
    from FlagEmbedding import BGEM3FlagModel

    library = BGEM3FlagModel(str(m3), use_fp16=False, devices="cpu")

    def encode(texts: list[str], batch_size: int = 5) -> Any:
        made = library.encode(
            texts,
            batch_size=batch_size,
            max_length=LONGEST,
            return_dense=True,
            return_sparse=True,
            return_colbert_vecs=True,
        )
        return library, made

    return encode


def assert_equals_direct(made: Any, theirs: Any, order: Any = None) -> None:
    order = range(len(made.dense)) if order is None else order
    for place, of in enumerate(order):
        np.testing.assert_allclose(made.dense[place], theirs["dense_vecs"][of], **CLOSE)
        np.testing.assert_allclose(made.multi.of(place)[0], theirs["colbert_vecs"][of], **CLOSE)
        ids, weights = made.sparse.of(place)
        assert ids.tolist() == sorted(map(int, theirs["lexical_weights"][of]))
        np.testing.assert_allclose(weights, [theirs["lexical_weights"][of][str(token)] for token in ids], **CLOSE)


@pytest.mark.parametrize("tokens", [1, 100, 700, 100_000])
def test_all_three_outputs_are_flag_embeddings_whatever_batch_size_and_order(
    m3: Path, direct: Any, tokens: int
) -> None:
    order = np.random.default_rng(tokens).permutation(len(TEXTS))
    made = load(f"bge-m3-multi@{m3},tokens={tokens}").encode([TEXTS[place] for place in order])
    assert_equals_direct(made, direct(TEXTS, 1 + tokens % 7)[1], order)


def test_bge_m3_is_the_same_without_vectors_of_tokens(m3: Path, direct: Any) -> None:
    plain, multi = load(f"bge-m3@{m3}"), load(f"bge-m3-multi@{m3}")
    assert (plain.card.multi, multi.card.multi, plain.card.dimension) == (0, 32, 32)
    made = plain.encode(TEXTS)
    assert made.multi is None
    np.testing.assert_allclose(made.dense, direct(TEXTS)[1]["dense_vecs"], **CLOSE)


def test_a_text_over_the_longest_input_is_cut_as_the_library_cuts_it_and_reported(m3: Path, direct: Any) -> None:
    made = load(f"bge-m3@{m3}").encode(TEXTS)
    assert made.cut == {3: (LONGEST, 103)}
    short = load(f"bge-m3@{m3},max_length=10").encode(TEXTS)
    assert short.cut[3] == (10, 103)
    assert set(short.cut) > {3}
    assert not np.allclose(short.dense[3], made.dense[3])


def test_units_land_with_the_outputs_of_their_texts_and_a_note_on_each_cut(m3: Path, direct: Any) -> None:
    texts = [TEXTS[3], "", *TEXTS[:4], TEXTS[3]]
    units = rows_of(UNITS, [{"unit_id": f"u{place}", "key_text": text} for place, text in enumerate(texts)])
    table, notes = embed_units(units, load(f"bge-m3-multi@{m3}"), memo=Memo())
    theirs = direct(TEXTS[:4])[1]
    for row, of in zip(table.to_pylist(), [3, None, 0, 1, 2, 3, 3], strict=True):
        if of is None:
            assert [row[name] for name in ("vector", "sparse_ids", "sparse_weights", "multi")] == [None] * 4
            continue
        np.testing.assert_allclose(row["vector"], theirs["dense_vecs"][of], **CLOSE)
        np.testing.assert_allclose(row["multi"], theirs["colbert_vecs"][of], **CLOSE)
        weights = dict(zip(map(str, row["sparse_ids"]), row["sparse_weights"], strict=True))
        assert weights == pytest.approx(theirs["lexical_weights"][of], abs=1e-5)
    assert notes.cut == [("u0", LONGEST, 103), ("u5", LONGEST, 103), ("u6", LONGEST, 103)]
    assert notes.rejected == [("u1", "blank_text")]
    assert (notes.texts, notes.embedded) == (4, 4)


def test_the_whole_pipeline_stores_what_flag_embedding_gives(m3: Path, direct: Any, tmp_path: Path) -> None:
    lake = str(tmp_path / "lake")
    long = conversation("b", 6)
    long["turns"][0]["text"] = "quiet river " * 60
    source = write_conversations(tmp_path / "a.jsonl", [conversation("a", 30), long, conversation("c", 1)])
    ingest(IngestSettings(lake, "c", (str(source),), representations=("turns",), embedder="none"))
    done = embed(EmbedSettings(lake, "c", embedder=f"bge-m3-multi@{m3}", workers=1))
    assert done["dead_letters"]["text_cut"] >= 2
    assert_sound(lake)
    snapshot = open_lake(lake).snapshot()
    for table in ("chunks__bge-m3-multi", "turns__bge-m3-multi"):
        rows = snapshot.lance_table(table).to_table().to_pylist()
        theirs = direct([row["key_text"] for row in rows], 3)[1]
        for place, row in enumerate(rows):
            np.testing.assert_allclose(row["vector"], theirs["dense_vecs"][place], **CLOSE)
            np.testing.assert_allclose(row["multi"], theirs["colbert_vecs"][place], **CLOSE)
            weights = dict(zip(map(str, row["sparse_ids"]), row["sparse_weights"], strict=True))
            assert weights == pytest.approx(theirs["lexical_weights"][place], abs=1e-5)
    assert embed(EmbedSettings(lake, "c", embedder=f"bge-m3-multi@{m3}"))["snapshot_id"] is None


def test_scores_of_tokens_are_flag_embeddings(m3: Path, direct: Any) -> None:
    library, theirs = direct(TEXTS)
    made = outputs_of(load(f"bge-m3-multi@{m3}").encode(TEXTS), ["sparse", "multi"])
    few = made.take(np.arange(9))
    weights = theirs["lexical_weights"]
    np.testing.assert_allclose(
        lexical_weights_scores(few.sparse, made.sparse),
        library.compute_lexical_matching_score(weights[:9], weights),
        **CLOSE,
    )
    vectors = theirs["colbert_vecs"]
    expected = [[float(library.colbert_score(question, unit)) for unit in vectors] for question in vectors[:9]]
    np.testing.assert_allclose(max_sim(few.multi, made.multi), expected, **CLOSE)


def test_threads_at_once_get_the_same_numbers(m3: Path) -> None:
    embedder = load(f"bge-m3@{m3}")
    expected = embedder.embed(TEXTS)
    with ThreadPoolExecutor(4) as pool:
        for made in pool.map(embedder.embed, [TEXTS] * 8):
            np.testing.assert_array_equal(made, expected)


def test_no_texts_give_empty_outputs(m3: Path, reranker: Path) -> None:
    assert load(f"sentence@{tiny_models.minilm()}").embed([]).shape == (0, 384)
    assert load_reranker(f"reranker@{reranker}").score([], max_length=64).logits.shape == (0,)
    made = load(f"bge-m3-multi@{m3}").encode([])
    assert made.dense.shape == (0, 32)
    assert made.sparse.offsets.tolist() == made.multi.offsets.tolist() == [0]


def test_bf16_on_a_cpu_is_near_and_is_no_other_model(m3: Path) -> None:
    full, half = load(f"bge-m3@{m3}"), load(f"bge-m3@{m3},dtype=bf16")
    assert half.card == full.card
    cosine = (full.embed(TEXTS) * half.embed(TEXTS)).sum(axis=1)
    assert cosine.min() > 0.99
    assert not np.array_equal(full.embed(TEXTS), half.embed(TEXTS))


def test_loading_and_embedding_open_no_connection(m3: Path, reranker: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    for name in (f"bge-m3@{m3},tokens=11", f"sentence@{tiny_models.minilm()},tokens=11"):
        load(name).embed(TEXTS[:2])
    load_reranker(f"reranker@{reranker},tokens=11").score([("a", "b")], max_length=64)


def test_loading_says_nothing(m3: Path, capfd: pytest.CaptureFixture[str]) -> None:
    load(f"bge-m3@{m3},tokens=12").embed(TEXTS)
    load(f"sentence@{tiny_models.minilm()},tokens=12").embed(TEXTS)
    said = capfd.readouterr()
    assert (said.out, said.err) == ("", "")


def test_what_the_model_or_the_machine_cannot_do_is_refused(m3: Path, tmp_path: Path) -> None:
    import torch

    with pytest.raises(UsageError, match="the model takes up to 64 tokens"):
        load(f"bge-m3@{m3},max_length=65")
    with pytest.raises(UsageError, match="fp16' on a CPU"):
        load(f"bge-m3@{m3},dtype=fp16,device=cpu")
    if not torch.cuda.is_available():
        with pytest.raises(UsageError, match="torch finds no CUDA device"):
            load(f"bge-m3@{m3},device=cuda")
    with pytest.raises(UsageError, match="how it pools"):
        load(f"flag@{m3}")
    headless = tiny_models.without(tiny_models.bge_m3(tmp_path / "m3"), "sparse_linear.pt")
    with pytest.raises(NotFoundError, match=r"lacks sparse_linear\.pt"):
        load(f"bge-m3@{headless}")


def test_minilm_is_sentence_transformers_own_and_says_what_it_cut() -> None:
    from sentence_transformers import SentenceTransformer

    folder = tiny_models.minilm()
    embedder = load(f"sentence@{folder}")
    texts = [*TEXTS, "winter letter " * 300]
    made = embedder.encode(texts)
    np.testing.assert_allclose(made.dense, SentenceTransformer(str(folder), device="cpu").encode(texts), **CLOSE)
    assert made.cut == {len(texts) - 1: (256, 602)}
    assert embedder.card.normalised
    np.testing.assert_allclose(embedder.encode(texts, questions=True).dense, made.dense, **CLOSE)


def test_a_dense_encoder_is_flag_models_own() -> None:
    from FlagEmbedding import FlagModel

    folder = tiny_models.minilm()
    embedder = load(f"flag@{folder}")
    theirs = FlagModel(str(folder), pooling_method="mean", use_fp16=False, devices="cpu")
    np.testing.assert_allclose(embedder.embed(TEXTS), theirs.encode(TEXTS, max_length=512), **CLOSE)
    assert load(f"flag@{folder},pooling=cls").card.revision != embedder.card.revision


def test_a_prompt_goes_before_questions_alone_and_counts_to_their_length(tmp_path: Path) -> None:
    from shutil import copytree

    folder = Path(copytree(tiny_models.minilm(), tmp_path / "prompted"))
    settings = {"prompts": {"query": "find a passage on: ", "document": ""}, "default_prompt_name": None}
    tiny_models.write_json(folder / "config_sentence_transformers.json", settings)
    embedder = load(f"sentence@{folder}")
    text = "winter letter " * 126
    assert embedder.encode([text]).cut == {}
    assert embedder.encode([text], questions=True).cut == {0: (256, 259)}
    plain = load(f"sentence@{tiny_models.minilm()}")
    asked = embedder.encode(TEXTS[:3], questions=True).dense
    np.testing.assert_allclose(asked, plain.embed([f"find a passage on: {text}" for text in TEXTS[:3]]), **CLOSE)
    assert embedder.card.revision != plain.card.revision


PAIRS = [(question, text) for question in (TEXTS[0], TEXTS[1], "quiet winter " * 60, "☃") for text in TEXTS]


@pytest.mark.parametrize("tokens", [1, 300, 100_000])
def test_a_reranker_scores_as_flag_reranker_does(reranker: Path, tokens: int) -> None:
    from FlagEmbedding import FlagReranker

    theirs = FlagReranker(str(reranker), use_fp16=False, devices="cpu", max_length=100, batch_size=7)
    order = np.random.default_rng(tokens).permutation(len(PAIRS))
    made = load_reranker(f"reranker@{reranker},tokens={tokens}").score(
        [PAIRS[place] for place in order], max_length=100
    )
    np.testing.assert_allclose(made.logits, np.array(theirs.compute_score(PAIRS))[order], **CLOSE)
    np.testing.assert_allclose(made.normalised, np.array(theirs.compute_score(PAIRS, normalize=True))[order], **CLOSE)
    # The long text beside each question, and the long question beside each text.
    assert made.cut == 4 + len(TEXTS) - 1


def cell_of(model: str, **settings: object) -> Cell:
    steps = [
        {"step": "seed_lexical"},
        {"step": "rank"},
        {"step": "rerank", "model": model, **settings},
        {"step": "pack"},
    ]
    return Cell("run", "cell", parse_plan("p", steps), "chars4", Cutoffs(k=(4,)), depth=100)


@pytest.mark.parametrize("text", ["show", "key"])
def test_the_first_units_follow_the_reranker_and_the_rest_stay_behind_them(reranker: Path, text: str) -> None:
    rows = [
        {"unit_id": f"u{place:02}", "key_text": TEXTS[place], "show_text": f"[day] {TEXTS[place]}"}
        for place in range(30)
    ]
    questions = [{"question_id": f"q{place}", "text": TEXTS[place]} for place in (1, 9)]
    store, asked = open_store(rows_of(UNITS, rows)), rows_of(QUESTIONS, questions)
    model = f"reranker@{reranker}"
    before = run_cell(cell_of(model, pool=1, max_length=64), store=store, questions=asked).retrievals.to_pylist()
    found = run_cell(cell_of(model, pool=8, max_length=64, text=text), store=store, questions=asked)
    place_of = {row["unit_id"]: row for row in rows}
    for question in questions:
        plain = [row["unit_id"] for row in before if row["question_id"] == question["question_id"]]
        ranked = [row for row in found.retrievals.to_pylist() if row["question_id"] == question["question_id"]]
        assert sorted(row["unit_id"] for row in ranked[:8]) == sorted(plain[:8])
        assert [row["unit_id"] for row in ranked[8:]] == plain[8:]
        assert [row["rerank"] for row in ranked[8:]] == [None] * 22
        pairs = [(question["text"], place_of[row["unit_id"]][f"{text}_text"]) for row in ranked[:8]]
        scores = load_reranker(model).score(pairs, max_length=64)
        assert scores.logits.tolist() == sorted(scores.logits.tolist(), reverse=True)
        np.testing.assert_allclose([row["rerank"] for row in ranked[:8]], scores.normalised, **CLOSE)
    assert found.contexts.to_pylist()[0]["text"] is None or found.contexts.num_rows == 2
    assert found.rerank_cut == sum(text == TEXTS[3] for text in [TEXTS[3]]) * any(
        row["unit_id"] == "u03" and row["rerank"] is not None for row in found.retrievals.to_pylist()
    )


def test_equal_texts_keep_the_order_of_their_ids(reranker: Path) -> None:
    store = open_store(
        rows_of(UNITS, [{"unit_id": f"u{n}", "key_text": "lamp", "show_text": "lamp"} for n in range(6)])
    )
    asked = rows_of(QUESTIONS, [{"question_id": "q", "text": "lamp"}])
    rows = run_cell(cell_of(f"reranker@{reranker}", max_length=64), store=store, questions=asked).retrievals.to_pylist()
    assert [row["unit_id"] for row in rows] == [f"u{n}" for n in range(6)]
    empty = run_cell(cell_of(f"reranker@{reranker}", max_length=64), store=open_store(UNITS.empty()), questions=asked)
    assert empty.retrievals.num_rows == 0


def test_a_reranker_that_is_not_here_is_an_error_never_another_order(tmp_path: Path, reranker: Path) -> None:
    store = open_store(rows_of(UNITS, [{"unit_id": "u", "key_text": "a", "show_text": "a"}]))
    asked = rows_of(QUESTIONS, [{"question_id": "q", "text": "a"}])
    with pytest.raises(NotFoundError, match="is no folder") as missing:
        run_cell(cell_of(f"bge-reranker-v2-m3@{tmp_path}/x"), store=store, questions=asked)
    assert missing.value.hint == f"hf download BAAI/bge-reranker-v2-m3 --local-dir {tmp_path}/x"
    with pytest.raises(UsageError, match="it takes up to 128 tokens"):
        run_cell(cell_of(f"reranker@{reranker}", max_length=129), store=store, questions=asked)
    with pytest.raises(UsageError, match="gives 2 scores a pair"):
        load_reranker(f"reranker@{tiny_models.reranker(tmp_path / 'two', labels=2)}")
