"""Transcripts for flow tests: small, seeded, in memlake's own JSONL."""

import json
import random
from pathlib import Path

WORDS = [
    "river",
    "stone",
    "lamp",
    "window",
    "market",
    "paper",
    "garden",
    "silver",
    "early",
    "letter",
    "bridge",
    "winter",
    "orange",
    "quiet",
]


def conversation(name: str, turns: int, *, seed: int = 1) -> dict[str, object]:
    """One conversation of two sessions."""
    rng = random.Random(f"{name}{seed}")
    return {
        "conversation_id": name,
        "turns": [
            {
                "turn_id": f"t{place}",
                "speaker": "Ann" if place % 2 else "Bob",
                "text": f"{' '.join(rng.choices(WORDS, k=rng.randint(8, 30)))} {place}",
                "session_id": f"s{2 * place // max(turns, 1)}",
                "session_at": "2025-01-02T10:00:00Z" if 2 * place < turns else "2025-01-09T10:00:00Z",
            }
            for place in range(turns)
        ],
    }


def write_conversations(path: Path, conversations: list[dict[str, object]]) -> Path:
    """One conversation a line."""
    path.write_text("".join(json.dumps(talk, ensure_ascii=False) + "\n" for talk in conversations), encoding="utf-8")
    return path


def write_turns(path: Path, conversations: list[dict[str, object]]) -> Path:
    """One turn a line, conversations interleaved."""
    queues = [
        [{"conversation_id": talk["conversation_id"], **turn} for turn in talk["turns"]] for talk in conversations
    ]
    lines = []
    while any(queues):
        lines.extend(queue.pop(0) for queue in queues if queue)
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
    return path
