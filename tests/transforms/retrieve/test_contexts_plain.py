"""Contexts of every plan beside a plain, slow one: one question at a time, one code point at a time."""

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memlake.transforms.text.content_tokens import content_tokens
from memlake.transforms.text.tokenisers import costs

WORDS = st.sampled_from(["red", "cars", "the", "  ", "\n", "boat", "é", "日本", "ran. ", "a", ", "])
TEXTS = st.lists(WORDS, min_size=1, max_size=8).map(" ".join).filter(str.strip)
SESSIONS = st.lists(
    st.tuples(
        st.sampled_from([None, "8 May"]),
        st.lists(st.tuples(st.sampled_from(["Ann", "Bo"]), TEXTS), min_size=1, max_size=3),
    ),
    min_size=1,
    max_size=3,
)
VIEWS = [
    None,
    *[{"step": "merge"}] * 4,
    *[{"step": "project"}] * 2,
    *(
        {"step": "show", "text": text, "header": header}
        for text in ("show", "key", "quote")
        for header in (True, False)
    ),
]
TOKENS, K = (4, 9, 20, 60, 500), (1, 2, 5, 50)


@st.composite
def memories(draw, memory_of):
    """A conversation with up to eight units: slices in one session, notes of some turns, one of them of none."""
    memory = memory_of(draw(SESSIONS))
    sessions = {}
    for turn in memory.turns.to_pylist():
        first, _ = sessions.get(turn["session_ordinal"], (turn["char_start"], 0))
        sessions[turn["session_ordinal"]] = (first, turn["char_end"])
    for number in range(draw(st.integers(0, 8))):
        name = f"u{draw(st.integers(0, 9))}{number}"
        if draw(st.integers(0, 3)):
            first, past = draw(st.sampled_from(sorted(sessions.values())))
            start = draw(st.integers(first, past - 1))
            lead = draw(st.sampled_from(["[day] ", "", "[day] Ann: "]))
            session_id = next(f"s{place}" for place, span in sessions.items() if span == (first, past))
            memory.slice(name, start, draw(st.integers(start + 1, past)), lead=lead, session_id=session_id)
        else:
            turns = draw(st.sets(st.integers(0, memory.turns.num_rows - 1), max_size=2))
            said = draw(st.sampled_from([None, '{"quote": "a red boat"}', '{"quote": null}']))
            memory.note(name, f"Note: {number} of cars", sorted(turns), header_chars=6, attributes=said)
    return memory


class Plain:
    """The context of one ranked list."""

    def __init__(self, memory, view, tokeniser):
        self.memory, self.view, self.tokeniser = memory, view or {"step": "show"}, tokeniser
        self.units = {unit["unit_id"]: unit for unit in memory.units}
        self.turns = memory.turns.to_pylist()
        self.solid = [place for place, sign in enumerate(memory.text) if not sign.isspace()]

    def cost(self, text):
        import pyarrow as pa

        return int(costs(self.tokeniser, pa.array([text]))[0])

    def session(self, place):
        return max(turn["session_ordinal"] for turn in self.turns if turn["char_start"] <= place)

    def begins(self, name):
        """(ordinal, code point) of the unit's first piece; a turn that is only cited begins before its code points."""
        places = [
            (piece["ordinal"], piece.get("char_start", -1)) for piece in self.memory.pieces if piece["unit_id"] == name
        ]
        return min(places, default=(10**9, 0))

    def at(self, place):
        return (max(turn["ordinal"] for turn in self.turns if turn["char_start"] <= place), place)

    def stretches(self, places):
        """Runs of code points between which there is only white space, in one session each."""
        runs = []
        for place in sorted(places):
            between = bool(runs) and any(runs[-1][-1] < solid < place for solid in self.solid)
            if not runs or between or self.session(runs[-1][-1]) != self.session(place):
                runs.append([])
            runs[-1].append(place)
        return [(run[0], run[-1] + 1) for run in runs]

    def pieces(self, name, shown):
        """What a unit adds: (text, when); `shown` holds the turns or code points that better units showed, and grows."""
        unit = self.units[name]
        lead = unit["show_text"][: unit.get("header_chars", 0)]
        if self.view["step"] == "project":
            touched = {p["ordinal"] for p in self.memory.pieces if p["unit_id"] == name and p["touches_text"]}
            new = sorted(touched - shown)
            shown |= touched
            return [(self.turn(ordinal), (ordinal, 0)) for ordinal in new]
        if self.view["step"] == "merge" and unit.get("span_start") is not None:
            mine = {place for place in self.solid if unit["span_start"] <= place < unit["span_end"]}
            new = self.stretches(mine - shown)
            shown |= mine
            return [(lead + self.memory.text[first:past], self.at(first)) for first, past in new]
        return [(self.whole(unit, lead), self.begins(name))]

    def turn(self, ordinal):
        turn = self.turns[ordinal]
        return (f"[{turn['session_label']}] " if turn["session_label"] else "") + f"{turn['speaker']}: {turn['text']}"

    def whole(self, unit, lead):
        text = unit["show_text"][len(lead) :]
        if self.view.get("text") == "quote":
            quote = re.search(r'"quote": "(.*)"', unit.get("attributes") or "")
            text = quote[1] if quote else text
        return lead + text if self.view.get("header", True) else text

    def joined(self, ranked):
        """Neighbouring slices as one piece behind the lead of the best unit that holds its first code point."""
        owner, out = {}, []
        for name in ranked:
            unit = self.units[name]
            if unit.get("span_start") is None:
                out.append((self.begins(name), name, unit["show_text"]))
            else:
                for place in self.solid:
                    if unit["span_start"] <= place < unit["span_end"]:
                        owner.setdefault(place, name)
        for first, past in self.stretches(owner):
            unit = self.units[owner[first]]
            lead = unit["show_text"][: unit["header_chars"]]
            out.append((self.at(first), owner[first], lead + self.memory.text[first:past]))
        return [text for _, _, text in sorted(out)]

    def context(self, ranked, kind, cutoff, order, most):
        shown, taken, total = set(), [], 0
        ranked = ranked if most is None else ranked[:most]
        count = 0
        for name in ranked:
            new = self.pieces(name, shown)
            cost = sum(self.cost(text) for text, _ in new)
            if total + cost > cutoff if kind == "tokens" else count >= cutoff:
                break
            total, count = total + cost, count + 1
            taken += [(when, name, place, text) for place, (text, when) in enumerate(new)]
        texts = [text for *_, text in taken]
        if order == "time":
            merged = self.view["step"] == "merge"
            texts = self.joined(ranked[:count]) if merged else [text for *_, text in sorted(taken)]
        return count, total, texts


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_every_view_and_order_gives_what_a_plain_reader_would_put_together(data, memory_of, asked, searched, ranks):
    memory = data.draw(memories(memory_of))
    view = data.draw(st.sampled_from(VIEWS))
    order = data.draw(st.sampled_from(["score", "time", "random"]))
    most = data.draw(st.sampled_from([None, None, 0, 2]))
    tokeniser = data.draw(st.sampled_from(["chars4", "chars4", "llama2"]))
    rank = {"step": "rank"} | data.draw(st.sampled_from([{}, {"candidates": 3}]))
    pack = {"step": "pack", "order": order} | ({} if most is None else {"most": most})
    plan = [{"step": "seed_random", "seed": data.draw(st.integers(0, 99))}, rank, *([view] if view else []), pack]
    questions = asked("one", "two", "three")
    found = searched(plan, memory.store(), questions, tokens=TOKENS, k=K, tokeniser=tokeniser)
    plain = Plain(memory, view, tokeniser)
    rows = found.contexts.to_pylist()
    assert len(rows) == 3 * (len(TOKENS) + len(K))
    for row in rows:
        ranked = ranks(found, row["question_id"])
        count, total, texts = plain.context(ranked, row["cutoff_kind"], row["cutoff"], order, most)
        assert (row["units"], row["tokens"]) == (count, total)
        if order == "random":
            assert sorted(row["text"].split("\n")) == sorted("\n".join(texts).split("\n"))
        else:
            assert row["text"] == "\n".join(texts)
        assert row["content_tokens"] == sorted(set(content_tokens("\n".join(texts))))


@pytest.mark.parametrize("view", [{"step": "merge"}, {"step": "project"}])
def test_blocks_of_questions_change_nothing(view, memory_of, asked, searched, monkeypatch):
    memory = memory_of([("8 May", [("Ann", f"fact {n} of it") for n in range(9)])])
    for n in range(8):
        memory.slice(f"u{n}", 7 * n, 7 * n + 40)
    plan = [{"step": "seed_random"}, {"step": "rank"}, view, {"step": "pack", "order": "time"}]
    questions = asked(*(f"question {n}" for n in range(7)))
    whole = searched(plan, memory.store(), questions, tokens=TOKENS)
    monkeypatch.setattr("memlake.transforms.retrieve.cell._BLOCK", 25)
    blocks = searched(plan, memory.store(), questions, tokens=TOKENS)
    by_key = [("question_id", "ascending"), ("cutoff_kind", "ascending"), ("cutoff", "ascending")]
    assert whole.contexts.sort_by(by_key) == blocks.contexts.sort_by(by_key)
    assert whole.retrievals == blocks.retrievals
