"""Answers as LoCoMo's corrections print them: remarks taken off, and what says that it cannot be known recognised.

The corrections are prose. Read by these rules, in this order:

1. Where only the citation is wrong (error_type WRONG_CITATION) or no answer is given, the official answer stands.
2. The official answer, or the official answer followed by remarks in parentheses, is the official answer. Case, blanks
   and full stops at the end are not compared: part of the official answers lack blanks.
3. An answer says that it cannot be determined when its first clause, parentheses left out, has one of the phrases of
   `_UNKNOWN` (cannot be determined, not mentioned, is unspecified, ...), or when any clause has one and the answer cites
   no turn: a citation vouches for the part that is answered. Then the question has no answer.
4. Of any other answer, parentheses that hold a turn's id (D4:8) are cut out with the blanks before them.
"""

import re
from typing import Any

from memlake.transforms.text.clean import as_answer

TURN_ID = re.compile(r"D(\d+):(\d+)", re.ASCII)
_PARENTHESIS = r"\((?:[^()]|\([^()]*\))*\)"
_REMARK = re.compile(rf"\s*{_PARENTHESIS}")
_REMARKS = re.compile(rf"(?:{_PARENTHESIS}[\s.]*)+")
_CLAUSE = re.compile(r"[.;:]\s|\s[-\u2013\u2014]\s")
_UNKNOWN = re.compile(
    r"\bcan(?:not|'t| not) be (?:\w+ )?determined\b"
    r"|\b(?:not|never) (?:been )?(?:mentioned|stated|specified)\b"
    r"|\b(?:does|do|did) not (?:mention|state|specify|suggest|say)\b"
    r"|\b(?:is|are|was|were) (?:unspecified|unknown|unclear)\b"
    r"|\b(?:is|are|was|were) no (?:data|information)\b"
    r"|^\s*(?:unknown|unclear|undetermined|no information)\b",
    re.IGNORECASE,
)


def corrected_answer(row: dict[str, Any], official: str | None) -> tuple[str | None, bool]:
    """The answer that a correction leaves, and whether there is one to be known.

    Args:
        row: a row of the corrections; {} where there is none.
        official: the official answer as text.
    """
    given = as_answer(row.get("correct_answer"))
    if given is None or row.get("error_type") == "WRONG_CITATION" or _is_official(given, official):
        return official, True
    if _says_unknown(given):
        return None, False
    uncited = _REMARK.sub(lambda remark: "" if TURN_ID.search(remark[0]) else remark[0], given).strip()
    return uncited or official, True


def _is_official(given: str, official: str | None) -> bool:
    if official is None:
        return False
    # The official answer may hold parentheses of its own, so the remarks begin at the one after as many.
    same = "(".join(given.split("(")[: official.count("(") + 1])
    remarks = given[len(same) :]
    return _bare(same) == _bare(official) and (not remarks or _REMARKS.fullmatch(remarks) is not None)


def _says_unknown(given: str) -> bool:
    clauses = _CLAUSE.split(_REMARK.sub("", given))
    return any(map(_UNKNOWN.search, clauses[:1] if TURN_ID.search(given) else clauses))


def _bare(text: str) -> str:
    return "".join(text.split()).rstrip(".").casefold()
