"""The demo: transcripts written for it, with planted facts and questions, and how its result is told."""

from pathlib import Path

TRANSCRIPTS = Path(__file__).parent / "transcripts.jsonl"
CORPUS = "demo"
STUDY = "demo"
SUMMARY = "rule_summary"
REPORT = "lost-only-as-observations"  # works for any lossy representation
STORES = {
    "chunks": "slices of 512",
    "turns": "single messages",
    "rule_summary": "first clauses",
}
BUDGETS = (200, 500)
REPRESENTATIONS = tuple(STORES)
