"""propositions: near-verbatim statements that a model extracts, one fact a unit, dated and attributed, each with its quote.

Made and grounded as artifacts are, without types and confidence: the text is to keep as much of what was said as a
statement that stands alone can.
"""

from memlake.transforms.represent.by_model.quoted import NUMBERS, TEXT, TEXT_OR_NULL, Quoted

# As for artifacts, but nearly every sentence becomes one.
QUOTED = Quoted(
    "propositions",
    {
        "content": TEXT,
        "quote": TEXT,
        "speaker": TEXT_OR_NULL,
        "time_expression": TEXT_OR_NULL,
        "resolved_time": TEXT_OR_NULL,
        "turns": NUMBERS,
    },
    kind="proposition",
    of_text=2.2,
    of_turn=60,
)
PROPOSITIONS = QUOTED.representation()
