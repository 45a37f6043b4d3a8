"""What kind of memory an English sentence is, by pattern: the rules of artifacts_rules in one table.

The rules are conservative: a sentence that ends as a question is none (but for a wish to be reminded), and most rules want
somebody to be the subject: a pronoun, a capitalised name, or nobody at the sentence's start ('Decided to stay.'). The
first rule of the table that holds gives a sentence its kind; the others that hold are kept beside it.
"""

import re
from dataclasses import dataclass

# Gaps are bounded, so that no sentence, however long, takes more than time linear in its length.
_CAPITAL = "[A-ZÀ-ÖØ-Þ]"
# A capitalised word that opens a sentence is mostly no name.
_NO_NAME = (
    "(?!(?:And|Are|But|Can|Could|Did|Do|Does|Everyone|Feels?|Had|Has|Have|How|If|It|Just|Looks?|Maybe|Must|Not|Nothing|Or"
    "|People|Seems?|Should|So|Some|Someone|Sounds?|Stuff|Tastes?|That|The|Then|There|These|Things?|This|Those|Was|What"
    "|Whatever|When|Where|Which|Who|Why|Will|Would|Yeah|Yes|You)\\b)"
)
_NAME = rf"{_NO_NAME}{_CAPITAL}[\w-]{{0,30}}"
_START = r"^\W{0,9}"
_WHO = rf"\b(?:(?i:I|we|he|she|they)|{_NAME})"
_IS = r"(?i:['’](?:m|re|s)|\s+(?:am|are|is|was|were))"
_HOW = (
    r"(?i:\s+(?:absolutely|actually|all|also|always|both|definitely|even|finally|just|never|often|only|really|recently"
    r"|so|sometimes|still|totally|truly|usually))?"
)
_DID = rf"(?:{_WHO}(?i:['’](?:ve|s|d)|\s+(?:have|has|had|will))?{_HOW}\s+|{_START})"
_BEING = rf"{_WHO}{_IS}{_HOW}\s+"
_WHOSE = rf"\b(?:(?i:my|our|his|her|their)|{_NAME}['’]s?)"
_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_MONTH = r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_SPAN = r"(?:morning|afternoon|evening|night|day|weekend|week|month|summer|winter|spring|autumn|fall|year|semester)"
_COUNT = r"(?:an?|a\s+few|a\s+couple\s+of|several|two|three|four|five|six|seven|eight|nine|ten|\d{1,3})"
_KIN = (
    r"(?:aunt|boss|boyfriend|bro|brother|cat|child|children|coach|colleague|cousin|co-?worker|dad|daughter|dog|father"
    r"|fianc[eé]e?|friend|girlfriend|grand(?:children|daughter|father|kid|ma|mother|pa|parent|son)|husband|in-law|kid"
    r"|kitten|mentor|mom|mother|mum|neighbou?r|nephew|niece|parent|partner|pet|pupp(?:y|ies)|room-?mate|sibling|sister"
    r"|son|spouse|teammate|uncle|wife)s?"
)
_JOB = r"(?:\w{2,30}(?:ist|ian|yst|eer)|artist|chef|doctor|driver|engineer|nurse|parent|singer|student|teacher|writer)"


@dataclass(frozen=True, slots=True)
class Rule:
    """A kind of memory and what a sentence of it looks like; `asked` is whether a question may be one too."""

    kind: str
    pattern: re.Pattern[str]
    asked: bool = False


def _rule(kind: str, *patterns: str, asked: bool = False) -> Rule:
    return Rule(kind, re.compile("|".join(patterns)), asked)


RULES: tuple[Rule, ...] = (
    _rule(
        "reminder",
        r"\b(?i:remind\s+(?:me|us|him|her|them|yourself)\s+(?:to|about))\b",  # Can you remind me to call?
        r"\b(?i:do(?:n['’]t|\s+not)\s+(?:let\s+(?:me|us)\s+)?forget)\b",  # Don't let me forget.
        r"\b(?i:sets?\s+(?:a|an|another)\s+(?:reminder|alarm))\b",  # Ana set an alarm.
        rf"{_START}(?i:(?:please\s+)?remember\s+to)\b",  # Remember to lock up.
        asked=True,
    ),
    _rule(
        "todo",
        # We need to leave. Ana has to pay. Gotta pack. But not: I have to say. It must be hard.
        rf"{_DID}(?i:(?:needs?|have|has|had\s+better|ought|(?:have|['’]ve)\s+got|plans?|intends?)\s+to|gotta)"
        r"\s+(?!(?i:admit|agree|be|have|say)\b)\w",
        rf"{_WHO}\s+(?i:must)\s+(?!(?i:admit|be|feel|have|say)\b)\w",
        rf"(?:{_BEING}|{_START})(?i:(?:going|planning|supposed)\s+to)\s+\w",  # He's planning to quit.
        r"\b(?i:to-?\s?do\s+list)\b",  # It is on my to-do list.
    ),
    _rule(
        "decision",
        # We decided to stay. Ana chose the blue one. I've made up my mind. But not: he picked up a book.
        rf"{_DID}(?i:decided|chose|chosen|agreed\s+(?:to|on|that)|opted|settled\s+on|picked\s+(?!up)"
        r"|ended\s+up\s+(?:choosing|picking|going\s+with)|made\s+up\s+(?:my|our|his|her|their)\s+minds?)\b",
        rf"{_BEING}(?i:going\s+with)\b",  # We're going with Friday.
        r"\b(?i:let['’]s\s+go\s+(?:with|for))\b",  # Let's go with Friday.
    ),
    _rule(
        "preference",
        # Ana loves jazz. I really like old maps. But not: I love that! I'd like to hear more. Sounds like fun.
        rf"(?:{_WHO}(?i:['’]ve|\s+have)?{_HOW}\s+)(?i:loves?|likes?|enjoys?|prefers?|hates?|dislikes?|adores?|loved|enjoyed|hated)"
        r"\s+(?!(?i:it|that|this|how|when|you|your|to\s+(?:hear|know|see)|hearing|seeing)\b)\w",
        r"\b(?i:favou?rites?)\b",  # Figs are my favourite.
        # He can't stand noise. I'd rather walk. She doesn't like tea.
        rf"{_WHO}(?i:\s+(?:can(?:['’]t|not)\s+stand|would\s+rather|do(?:es)?(?:n['’]t|\s+not)\s+(?:like|enjoy))"
        r"|['’]d\s+rather)\b",
        rf"{_BEING}(?i:(?:a\s+(?:big\s+|huge\s+)?fan\s+of|fond\s+of|obsessed\s+with|crazy\s+about|passionate\s+about))\b",
    ),
    _rule(
        "event",
        r"\b(?i:yesterday|tomorrow|tonight|the\s+other\s+day)\b",
        rf"\b(?i:(?:last|next|this|this\s+past|this\s+coming)\s+(?:{_SPAN}|{_DAY})|on\s+{_DAY}s?)\b",
        rf"\b(?i:{_COUNT}\s+(?:day|week|month|year)s?\s+ago)\b",
        # In May, on May 3, 3rd of May; a month is one by its capital only, since one may march.
        rf"\b(?i:in|since|until|on|back\s+in)\s+{_MONTH}\b",
        rf"\b{_MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?\b|\b\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}\b",
        r"\b(?i:in)\s+(?:19|20)\d\d\b|\b\d{4}-\d\d-\d\d\b",
    ),
    _rule(
        "person_attribute",
        # I work as a nurse. She lives near Lima. He grew up here. Bo speaks Thai.
        rf"{_WHO}{_HOW}\s+(?i:works?\s+(?:as|at|for|in)|live[sd]?\s+(?:in|with|near|on|at)|stud(?:y|ies|ied)\s+\w"
        r"|grew\s+up|was\s+(?:born|raised)|comes?\s+from)\b",
        rf"{_WHO}{_HOW}\s+(?i:speaks?)\s+{_CAPITAL}",
        # I'm allergic to nuts. She is from Lima. He's a biologist.
        rf"{_BEING}(?i:allergic|divorced|married|pregnant|retired|single|vegan|vegetarian|turning\s+\d|an?\s+{_JOB})\b",
        rf"{_BEING}(?i:from)\s+{_CAPITAL}",
        r"\b(?i:\d{1,3}[\s-]years?[\s-]old)\b",  # Her 30-year-old piano is counted too.
    ),
    _rule(
        "relationship",
        rf"{_WHOSE}\s+(?i:(?:\w{{1,30}}\s+){{0,2}}{_KIN})\b",  # My little sister. Ana's cat.
        r"\b(?i:(?:married|engaged|related)\s+to|broke\s+up\s+with|in\s+a\s+relationship)\b",
    ),
    _rule(
        "key_fact",
        r"[$€£¥]\s?\d|\b\d[\d.,]{0,20}\b",  # It costs $40.
        rf"[\"“]{_CAPITAL}[^\"“”]{{1,80}}[\"”]",  # We read "Dune".
        rf"\b(?i:called|named|titled)\s+[\"“]?{_CAPITAL}",  # The dog is called Rex.
    ),
)
KINDS = tuple(rule.kind for rule in RULES)
_ASKS = re.compile(r"\?[\"'”’)\]]{0,9}(?:\s\[shares [^\]]{0,2000}\])?$")


def kinds_of(sentence: str) -> list[str]:
    """The kinds whose rules a sentence matches, in the table's order; none for most."""
    asked = _ASKS.search(sentence) is not None
    return [rule.kind for rule in RULES if (rule.asked or not asked) and rule.pattern.search(sentence)]
