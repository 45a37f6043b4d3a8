"""cells: what a study compares."""

from memlake.schemas.table import STRING, STRINGS, Table, column

CELLS = Table(
    name="cells",
    grain="a cell of a study's run on one corpus",
    key=("run_id", "cell", "corpus"),
    version=2,
    columns=(
        column("run_id", STRING, "the run of the study"),
        column("cell", STRING, "the cell's name in the study"),
        column("study", STRING, "the study's name"),
        column("corpus", STRING, "the corpus that is asked about"),
        column("representations", STRINGS, "the representations whose units are searched"),
        column("embedder", STRING, "the embedder of units and questions"),
        column("plan", STRING, "the retrieval plan as JSON: an ordered list of steps"),
        column("reader", STRING, "the reader; '' where no answer is asked for"),
        column("tokeniser", STRING, "the tokeniser that counts the budget"),
        column("settings", STRING, "every setting of the cell as JSON"),
        column("settings_hash", STRING, "128-bit blake2b of settings"),
        column("read_snapshot_id", STRING, "the snapshot whose rows were searched"),
    ),
)
