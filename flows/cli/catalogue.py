"""The commands of `memlake`: name, where it lives, one line on it, and an example that works as it stands.

Nothing here imports a command: `memlake --help` prints this table alone, in half a second.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Command:
    """An entry of the command's help; its file in flows/cli/commands has its name, a group is a cyclopts App there."""

    name: str
    help: str
    examples: tuple[str, ...]
    is_group: bool = False

    @property
    def target(self) -> str:
        """Where it lives, as 'module:name'."""
        return f"memlake.flows.cli.commands.{self.name}:{'app' if self.is_group else self.name}"

    @property
    def epilogue(self) -> str:
        """The examples as the last lines of the command's own help."""
        return "\n".join(["Examples:", *(f"  {example}" for example in self.examples)])


COMMANDS = (
    Command(
        "demo",
        "The whole path on built-in transcripts: offline, in a minute.",
        ("memlake demo", "memlake demo --lake ./demo-lake --json"),
    ),
    Command(
        "ingest",
        "Read transcripts into a lake and publish one snapshot.",
        ("memlake ingest chats.jsonl --corpus team", "memlake ingest 'exports/*.json' --corpus team --dry-run --json"),
    ),
    Command(
        "represent",
        "Make further representations from the stored turns.",
        (
            "memlake represent turns sentences --corpus team",
            "memlake represent artifacts --corpus team --model gpt-4o-mini --plan",
            "memlake represent artifacts --corpus team --model gpt-4o-mini --max-in-flight 32 --max-cost 5",
        ),
    ),
    Command(
        "embed",
        "Embed the stored units.",
        ("memlake embed --corpus team", "memlake embed --corpus team --representations turns --embedder static"),
    ),
    Command(
        "link",
        "Link stored units that are alike.",
        (
            "memlake link turns --corpus team",
            "memlake link turns --corpus team --threshold 0.6 --k 5 --relation close",
            "memlake link turns --corpus team --shared-word-threshold 0.3 --k 0 --relation published",
        ),
    ),
    Command(
        "search",
        "Show what a plan retrieves for a text.",
        ("memlake search 'when does the lease end' --corpus team", "memlake search lease --corpus team --k 3 --json"),
    ),
    Command(
        "study",
        "Measure representations on questions: plan, run, ls, show, compare, gate.",
        (
            "memlake study plan locomo-retrieval",
            "memlake study run locomo-retrieval --corpus locomo",
            "memlake study show RUN --by category",
            "memlake study compare RUN/chunks OTHER_RUN/chunks",
            "memlake study gate locomo-retrieval",
        ),
        is_group=True,
    ),
    Command(
        "report",
        "A run of a study as one page: figures, controls, every question.",
        ("memlake report RUN --out report.html", "memlake report RUN --json"),
    ),
    Command(
        "probes",
        "Write synthetic conversations with planted facts and questions.",
        (
            "memlake probes ./probes --seed 7 --conversations 40 --turns 60 --fit 0.5 --split test",
            "memlake probes ./probes --fit 0,0.25,0.5,0.75,1 --json",
        ),
    ),
    Command(
        "sql",
        "Ask in DuckDB SQL; every table is a view.",
        (
            "memlake sql 'select corpus, count(*) as turns from turns group by corpus'",
            "memlake sql 'select * from turns' --out turns.parquet",
            "memlake sql --file REPORT --param run_id=RUN --json",
        ),
    ),
    Command(
        "tables",
        "Look at the tables and check them: ls, show, verify.",
        ("memlake tables ls", "memlake tables show turns", "memlake tables verify"),
        is_group=True,
    ),
    Command(
        "snapshots",
        "Versions of the lake: ls, diff, tag, restore.",
        (
            "memlake snapshots ls",
            "memlake snapshots tag before-cleaning",
            "memlake snapshots diff before-cleaning latest",
        ),
        is_group=True,
    ),
    Command(
        "forget",
        "Take a conversation out; ingest will not bring it back.",
        ("memlake forget C-17 --corpus team",),
    ),
    Command(
        "doctor",
        "Versions, settings and their origins, the lake's state.",
        ("memlake doctor", "memlake doctor --lake ./lake --json"),
    ),
    Command(
        "completion",
        "Print a completion script for a shell.",
        ("memlake completion bash > ~/.local/share/bash-completion/completions/memlake",),
    ),
)


def epilogue(name: str) -> str:
    """The examples of one command, for the help of a group that is an App of its own."""
    return next(command.epilogue for command in COMMANDS if command.name == name)
