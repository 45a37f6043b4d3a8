"""Transcripts for benchmarks: seeded, any size, one conversation a line, a few of them hostile."""

import json
import random
from pathlib import Path

_SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "er", "is")]
_HOSTILE = [
    "👩‍👩‍👧‍👦 family",
    "é combining",
    "日本語のテキスト。",
    "tabs\tand\r\nbreaks",
    "nbsp\u00a0here",
    'O\'Brien "said" {0}',
]


def write_transcripts(path: Path, megabytes: float, *, seed: int = 7) -> None:
    """Write about `megabytes` of memlake JSONL: conversations of 4 sessions and 160 turns of some 20 words."""
    rng = random.Random(seed)
    words = ["".join(rng.choices(_SYLLABLES, k=rng.randint(1, 4))) for _ in range(20_000)]
    weights = [1 / (rank + 5) for rank in range(len(words))]
    written, number = 0, 0
    with path.open("w", encoding="utf-8") as file:
        while written < megabytes * 1_000_000:
            line = json.dumps(_conversation(rng, words, weights, number), ensure_ascii=False) + "\n"
            file.write(line)
            written += len(line.encode())
            number += 1


def _conversation(rng: random.Random, words: list[str], weights: list[float], number: int) -> dict[str, object]:
    turns = []
    picked = rng.choices(words, weights, k=160 * 20)
    for place in range(160):
        text = " ".join(picked[place * 20 : place * 20 + rng.randint(5, 20)])
        if rng.random() < 0.01:
            text += " " + rng.choice(_HOSTILE)
        session = place // 40
        turns.append(
            {
                "text": text,
                "speaker": "Ann" if place % 2 else "Bob",
                "role": "user",
                "session_id": f"s{session}",
                "session_at": f"2025-0{session + 1}-{number % 27 + 1:02d}T09:30:00Z",
            }
        )
    return {"conversation_id": f"c{number:06d}", "turns": turns}
