"""A plan put into words: turns, and questions whose evidence is known because it was planted.

An exchange is two turns. A fact that fits is told by one sentence of the first, and the second only acknowledges it; a
loose one takes both. All other turns are the same at every fit, so two corpora of one seed differ in shape alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice

from memlake.transforms.probes.dice import Dice
from memlake.transforms.probes.plan import Fact, ProbePlan
from memlake.transforms.probes.template import UNANSWERABLE, filled, fillers

_EXCHANGES_A_SESSION = 6
_FIRST_DAY = datetime(2024, 1, 8, tzinfo=UTC)

FILLER, FACT = "filler", "fact"


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn; `planted` is 'filler', 'fact' or the kind of a near miss."""

    turn_id: str
    session_id: str
    session_at: str
    speaker: str
    text: str
    planted: str


@dataclass(frozen=True, slots=True)
class ProbeQuestion:
    """A question; `spans` are (turn_id, start, end) of what was planted, in code points; `distractors` turn ids by kind."""

    question_id: str
    text: str
    answer: str | None
    category: str
    evidence: tuple[str, ...]
    spans: tuple[tuple[str, int, int], ...]
    distractors: dict[str, str]
    fits: bool
    fact: Fact


@dataclass(frozen=True, slots=True)
class Probes:
    """A conversation with its questions; `name` is the same at every fit, `conversation_id` is not."""

    conversation_id: str
    name: str
    domain: str
    fit: float
    asked_at: str
    turns: tuple[Turn, ...]
    questions: tuple[ProbeQuestion, ...]


def tag_of(fit: float) -> str:
    """A fit as it stands in names: 0.25 is f025, and 0.125 is f0125."""
    digits = f"{fit:.6f}".replace(".", "").rstrip("0")
    return f"f{digits:0<3}"


def conversation_of(plan: ProbePlan, fit: float) -> Probes:
    """Put a plan into words, facts whose draw is below `fit` in the shape that the schema holds."""
    dice = Dice("words", plan.name)
    planted = _planted(plan, fit, dice)
    places = [(exchange, half) for exchange in range(plan.exchanges) for half in (0, 1)][: plan.turns]
    starts, session_at = _sessions(plan, dice)
    talk = _filler(plan, dice)
    turns: list[Turn] = []
    at: dict[tuple[int, int], str] = {}
    for exchange, half in places:
        session = exchange // _EXCHANGES_A_SESSION
        kind, texts = planted.get(exchange) or (FILLER, talk[exchange])
        place = 2 * (exchange % _EXCHANGES_A_SESSION) + half
        at[exchange, half] = f"s{session + 1}.{place + 1}"
        speaker = plan.speakers[(starts[session] + half) % 2]
        turns.append(
            Turn(at[exchange, half], f"s{session + 1}", _stamp(session_at[session]), speaker, texts[half], kind)
        )
    asked_at = _stamp(session_at[-1] + timedelta(days=1))
    questions = tuple(_question(f"q{place + 1}", fact, fit, at, planted) for place, fact in enumerate(plan.facts))
    return Probes(f"{plan.name}-{tag_of(fit)}", plan.name, plan.domain, fit, asked_at, tuple(turns), questions)


def _planted(plan: ProbePlan, fit: float, dice: Dice) -> dict[int, tuple[str, tuple[str, str]]]:
    """What is planted in each exchange that is no filler: its kind and its two texts, the first behind a lead."""
    words = fillers(plan.domain)
    leads, acks = (
        list(islice(_endless(lines, dice, name), plan.exchanges))
        for lines, name in ((words.leads, "leads"), (words.acks, "acks"))
    )
    planted: dict[int, tuple[str, tuple[str, str]]] = {}
    for fact in plan.facts:
        for place, exchange in enumerate(fact.stated_at):
            texts = (fact.template.fit[place],) if fact.draw < fit else fact.template.loose[place]
            first, second = (filled(text, fact.values) for text in (*texts, acks[exchange])[:2])
            planted[exchange] = FACT, (f"{leads[exchange]} {first}", second)
        for kind, exchange in fact.near_at.items():
            near = filled(fact.template.near[kind], fact.values)
            planted[exchange] = kind, (f"{leads[exchange]} {near}", acks[exchange])
    return planted


def _filler(plan: ProbePlan, dice: Dice) -> list[tuple[str, str]]:
    """Filler for every exchange, also where something is planted; no line comes again before all have come."""
    words = fillers(plan.domain)
    openers, replies = (
        _endless(lines, dice, name) for lines, name in ((words.openers, "openers"), (words.replies, "replies"))
    )
    talk = []
    for exchange in range(plan.exchanges):
        people = dice.shuffled(plan.subjects["cast"], "people", exchange)
        spoken_of = {"c": people[0], "c2": people[1], "p": dice.pick(plan.subjects["project"], "project", exchange)}
        talk.append((filled(next(openers), spoken_of), filled(next(replies), spoken_of)))
    return talk


def _endless(lines: tuple[str, ...], dice: Dice, name: str) -> Iterator[str]:
    again = 0
    while True:
        yield from dice.shuffled(lines, name, again)
        again += 1


def _sessions(plan: ProbePlan, dice: Dice) -> tuple[list[int], list[datetime]]:
    """Who starts each session, and when it is."""
    count = -(-plan.exchanges // _EXCHANGES_A_SESSION)
    day = _FIRST_DAY + timedelta(days=dice.below(200, "day"))
    moments = []
    for session in range(count):
        day += timedelta(days=2 + dice.below(14, "gap", session))
        moments.append(
            day + timedelta(hours=8 + dice.below(12, "hour", session), minutes=15 * dice.below(4, "m", session))
        )
    return [dice.below(2, "starts", session) for session in range(count)], moments


def _stamp(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M")


def _question(
    question_id: str,
    fact: Fact,
    fit: float,
    at: dict[tuple[int, int], str],
    planted: dict[int, tuple[str, tuple[str, str]]],
) -> ProbeQuestion:
    fits = fact.draw < fit
    spans = []
    for place, exchange in enumerate(fact.stated_at):
        texts = planted[exchange][1]
        statement = fact.template.fit[place] if fits else fact.template.loose[place][0]
        spans.append((at[exchange, 0], len(texts[0]) - len(filled(statement, fact.values)), len(texts[0])))
        if not fits:
            spans.append((at[exchange, 1], 0, len(texts[1])))
    return ProbeQuestion(
        question_id=question_id,
        text=filled(fact.template.question, fact.values),
        answer=None if fact.is_trap else filled(fact.template.answer, fact.values),
        category=UNANSWERABLE if fact.is_trap else fact.template.category,
        evidence=tuple(turn_id for turn_id, _, _ in spans),
        spans=tuple(spans),
        distractors={kind: at[exchange, 0] for kind, exchange in fact.near_at.items()},
        fits=fits,
        fact=fact,
    )
