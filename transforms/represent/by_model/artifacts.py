"""artifacts: typed items that a model extracts, each grounded by a quote in the transcript.

The default granularity is the session: what 'it', 'she' and 'that weekend' mean stands there, nothing crosses its border,
and the instruction is paid for once a session, not once a message. A session whose items may not fit into the reply is
cut before it is asked.
"""

from memlake.transforms.represent.by_model.quoted import NUMBERS, TEXT, TEXT_OR_NULL, Quoted

TYPES = (
    "decision", "key_fact", "event", "todo", "reminder", "insight", "preference", "person_attribute", "relationship",
)  # fmt: skip
# Content and quote repeat the text once each; 40 tokens are the JSON of about one item a turn.
QUOTED = Quoted(
    "artifacts",
    {
        "type": {"type": "string", "enum": list(TYPES)},
        "content": TEXT,
        "quote": TEXT,
        "speaker": TEXT_OR_NULL,
        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
        "time_expression": TEXT_OR_NULL,
        "resolved_time": TEXT_OR_NULL,
        "turns": NUMBERS,
    },
    kind="",
    of_text=2.0,
    of_turn=40,
)
ARTIFACTS = QUOTED.representation()
