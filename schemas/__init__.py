"""What a row means. One file a table; imports nothing else of this project."""

from memlake.schemas.answers import ANSWERS
from memlake.schemas.calls import CALLS
from memlake.schemas.cells import CELLS
from memlake.schemas.contexts import CONTEXTS
from memlake.schemas.conversations import CONVERSATIONS
from memlake.schemas.dead_letters import DEAD_LETTERS
from memlake.schemas.evidence import EVIDENCE
from memlake.schemas.extractions import EXTRACTIONS
from memlake.schemas.judgements import JUDGEMENTS
from memlake.schemas.links import LINKS
from memlake.schemas.losses import LOSSES
from memlake.schemas.parts import PARTS
from memlake.schemas.provenance import PROVENANCE
from memlake.schemas.questions import QUESTIONS
from memlake.schemas.representations import REPRESENTATIONS
from memlake.schemas.retrievals import RETRIEVALS
from memlake.schemas.runs import RUNS
from memlake.schemas.scores import SCORES
from memlake.schemas.snapshots import SNAPSHOTS
from memlake.schemas.statistics import STATISTICS
from memlake.schemas.table import Table
from memlake.schemas.tags import TAGS
from memlake.schemas.turns import TURNS
from memlake.schemas.units import UNITS

# In the order in which a reader meets them: the record, what is remembered, what is asked, what was found, the books.
ALL = (
    CONVERSATIONS, TURNS, REPRESENTATIONS, UNITS, PROVENANCE, LINKS, EXTRACTIONS, QUESTIONS, EVIDENCE,
    CELLS, RETRIEVALS, CONTEXTS, ANSWERS, JUDGEMENTS, SCORES, STATISTICS, LOSSES,
    CALLS, DEAD_LETTERS, RUNS, PARTS, SNAPSHOTS, TAGS,
)  # fmt: skip
TABLES: dict[str, Table] = {table.name: table for table in ALL}
