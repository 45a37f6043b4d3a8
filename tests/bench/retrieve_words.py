"""BM25 of 1,000 questions over generated short texts: sizes are how many texts."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

SIZES, QUICK = ("100000",), ("10000",)
QUESTIONS = 1000
SIDES = ("memlake top", "memlake scores", "bm25s", "tantivy", "LanceDB full text")


def generate(size: str, folder: Path) -> None:
    """Write texts.json, questions.json and the indexes on disk: words by Zipf's law, 8 to 40 a text, 8 a question."""
    import lancedb
    from lancedb.index import FTS

    generator = np.random.default_rng(3)
    letters = np.array(list("abdefgiklmnoprstuvz"))
    vocabulary = ["".join(generator.choice(letters, generator.integers(4, 10))) for _ in range(30_000)]
    chances = 1 / np.arange(10, len(vocabulary) + 10)

    def some(count: int, low: int, high: int) -> list[str]:
        lengths = generator.integers(low, high, count)
        words = generator.choice(len(vocabulary), lengths.sum(), p=chances / chances.sum())
        ends = np.cumsum(lengths)[:-1]
        return [" ".join(vocabulary[word] for word in row) for row in np.split(words, ends)]

    texts = some(int(size), 8, 41)
    (folder / "texts.json").write_text(json.dumps(texts))
    (folder / "questions.json").write_text(json.dumps(some(QUESTIONS, 8, 9)))
    rows = [{"row": row, "text": text} for row, text in enumerate(texts)]
    table = lancedb.connect(folder / "lancedb").create_table("texts", rows)
    table.create_index("text", config=FTS())


def prepare(side: str, size: str, folder: Path, k: int) -> tuple[Callable[[], object], Callable[[object], dict]]:
    """What is timed, after building the index and a warm-up, and what is said of its answer."""
    texts, questions = (json.loads((folder / f"{name}.json").read_text()) for name in ("texts", "questions"))
    call = {
        "memlake top": _ours,
        "memlake scores": _ours_in_full,
        "bm25s": _bm25s,
        "tantivy": _tantivy,
        "LanceDB full text": _lance,
    }[side](texts, questions, folder, k)
    return call, lambda found: {"questions": len(questions), "said": agreement(texts, questions, found, k, side)}


def agreement(texts, questions, found, k: int, side: str) -> str:
    """How many of each answer are in the top k of all scores; ends the process where ours or bm25s's is wrong."""
    from memlake.transforms.retrieve.indexes.lexical import LexicalIndex, LexicalSettings

    some = list(range(0, len(questions), 50))
    scores = LexicalIndex.build(texts, LexicalSettings()).scores([questions[place] for place in some])
    same, wanted = 0, 0
    for row, place in zip(scores, some, strict=True):
        best = np.argsort(-row.astype(np.float32), kind="stable")[:k]
        mine = np.asarray(found[place])
        mine = mine[mine >= 0]
        if side in ("memlake top", "memlake scores", "bm25s") and (row[mine] < row[best[-1]] - 1e-4).any():
            sys.exit("a wrong answer")
        same, wanted = same + len(set(best.tolist()) & set(mine.tolist())), wanted + len(best)
    return f"ids that memlake has too: {same / wanted:.1%}"


def _ours(texts, questions, folder, k):
    from memlake.transforms.retrieve.indexes.lexical import LexicalIndex, LexicalSettings

    index = LexicalIndex.build(texts, LexicalSettings())
    index.top(questions[:70], k)
    return lambda: index.top(questions, k)[0]


def _ours_in_full(texts, questions, folder, k):
    from memlake.transforms.retrieve.indexes.lexical import LexicalIndex, LexicalSettings

    index = LexicalIndex.build(texts, LexicalSettings())

    def ask(some):
        scores = index.scores(some).astype(np.float32)
        best = np.argpartition(-scores, k, axis=1)[:, :k]
        order = np.argsort(-np.take_along_axis(scores, best, 1), axis=1, kind="stable")
        return np.take_along_axis(best, order, 1)

    ask(questions[:10])
    return lambda: np.concatenate([ask(questions[low : low + 50]) for low in range(0, len(questions), 50)])


def _bm25s(texts, questions, folder, k):
    import bm25s
    import Stemmer

    how = {"stopwords": "english", "stemmer": Stemmer.Stemmer("english"), "show_progress": False}
    index = bm25s.BM25()
    index.index(bm25s.tokenize(texts, **how), show_progress=False)

    def ask(some):
        asked = bm25s.tokenize(some, return_ids=False, **how)
        return index.retrieve(asked, k=k, show_progress=False, n_threads=-1).documents

    ask(questions[:20])
    return lambda: ask(questions)


def _tantivy(texts, questions, folder, k):
    import tantivy

    schema = tantivy.SchemaBuilder()
    schema.add_text_field("text", tokenizer_name="en_stem")
    schema.add_integer_field("row", stored=True, fast=True)
    index = tantivy.Index(schema.build())
    writer = index.writer(num_threads=1)
    for row, text in enumerate(texts):
        writer.add_document(tantivy.Document(text=text, row=row))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()

    def ask(question):
        hits = searcher.search(index.parse_query(question, ["text"]), k, count=False).hits
        return [searcher.doc(address)["row"][0] for _, address in hits]

    ask(questions[0])
    return lambda: [ask(question) for question in questions]


def _lance(texts, questions, folder, k):
    import lancedb

    table = lancedb.connect(folder / "lancedb").open_table("texts")

    def ask(question):
        found = table.search(question, query_type="fts").limit(k).select(["row", "_score"]).to_arrow()
        return found["row"].to_numpy()

    ask(questions[0])
    return lambda: [ask(question) for question in questions]
