"""What a row means. One file a table; imports nothing else of this project."""

from schemas.answers import ANSWERS
from schemas.calls import CALLS
from schemas.cells import CELLS
from schemas.contexts import CONTEXTS
from schemas.conversations import CONVERSATIONS
from schemas.dead_letters import DEAD_LETTERS
from schemas.evidence import EVIDENCE
from schemas.extractions import EXTRACTIONS
from schemas.judgements import JUDGEMENTS
from schemas.links import LINKS
from schemas.losses import LOSSES
from schemas.parts import PARTS
from schemas.provenance import PROVENANCE
from schemas.questions import QUESTIONS
from schemas.representations import REPRESENTATIONS
from schemas.retrievals import RETRIEVALS
from schemas.runs import RUNS
from schemas.scores import SCORES
from schemas.snapshots import SNAPSHOTS
from schemas.statistics import STATISTICS
from schemas.table import Table
from schemas.tags import TAGS
from schemas.turns import TURNS
from schemas.units import UNITS

# In the order in which a reader meets them: the record, what is remembered, what is asked, what was found, the books.
ALL = (
    CONVERSATIONS, TURNS, REPRESENTATIONS, UNITS, PROVENANCE, LINKS, EXTRACTIONS, QUESTIONS, EVIDENCE,
    CELLS, RETRIEVALS, CONTEXTS, ANSWERS, JUDGEMENTS, SCORES, STATISTICS, LOSSES,
    CALLS, DEAD_LETTERS, RUNS, PARTS, SNAPSHOTS, TAGS,
)  # fmt: skip
TABLES: dict[str, Table] = {table.name: table for table in ALL}
