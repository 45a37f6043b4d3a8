"""Whether an answer says that there is no answer to be found: by anchors, each of them listed here.

Anywhere in it: LoCoMo's official two ('no information available', 'not mentioned') and what only ever speaks of what can
be known ('cannot be determined', 'not enough information'). At its start alone: what may also be part of an answer
('unknown' and 'unanswerable' before a stop, 'I don't know', 'no mention of'). As the whole of it: what says little else
('not specified', 'none given'). A model that abstains in other words, or in another language, is not recognised: a judge
of kind 'abstention' asks a model.
"""

import re

ABSTENTION = "No information available."

_LEAD = r"(?:(?:sorry|unfortunately|answer|question|date|the|this|that|it|is|was|based on (?:the|this) \w+)\b[ ,:]*)*"
_SOURCE = (
    r"(?:(?:provided|given|available) )?(?:evidence|contexts?|conversations?|transcripts?|texts?|information|excerpts?"
    r"|messages?|pieces?|notes?|memor(?:y|ies))(?: (?:provided|given|above|available))?"
)
_CANNOT = r"(?:can ?not|can't|could not|couldn't)"
_NOT = r"(?: not|n't)"
_TELL = r"(?:mention|say|tell|specify|state|contain|provide|include|give)"
_ANYWHERE = re.compile(
    r"\b(?:no (?:\w+ )?information (?:is |was )?(?:available|given|provided)"
    r"|(?:not|isn't|wasn't|is not|was not) mentioned(?! (?:until|before|till|again|in \d))"
    rf"|{_SOURCE} (?:(?:do|does|did){_NOT} {_TELL}|(?:has|have|{_TELL}s?) no (?:\w+ )?(?:information|mention))"
    rf"|{_CANNOT} be (?:determined|answered|inferred)"
    r"|(?:not enough|insufficient) (?:information|evidence|context))\b"
)
_AT_START = re.compile(
    rf"{_LEAD}(?:(?:unanswerable|unknown)(?= ?(?:[.,;:!(]|$))"
    rf"|(?:i (?:do|does){_NOT} know|i {_CANNOT} (?:answer|determine|tell|say)"
    rf"|i (?:am|'m){_NOT} sure|i'm not sure|i (?:do|does){_NOT} have (?:that|the|this|any|enough) (?:information|details?|data)"
    r"|(?:there is |there's )?no (?:mention|record|evidence|information) (?:of|about|on|regarding|in))\b)"
)
_WHOLE = re.compile(
    rf"{_LEAD}(?:not (?:specified|stated|provided|given|available|known|said|answerable)|n/a|none (?:given|mentioned)"
    rf"|no (?:answer|(?:relevant )?information|data))(?: (?:in|by|from) (?:the |this )?{_SOURCE})?"
)
_MARKUP = re.compile(r"[\s*_`\"“”#>]+")


def abstains(text: str) -> bool:
    """Whether a text says that the question cannot be answered."""
    plain = _MARKUP.sub(" ", text.casefold().replace("’", "'")).strip()
    if _ANYWHERE.search(plain) or _AT_START.match(plain):
        return True
    return _WHOLE.fullmatch(plain.rstrip(" .!")) is not None
