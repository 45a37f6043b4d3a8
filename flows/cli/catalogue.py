"""The commands of `memlake`: name, where it lives, one line on it, and an example that works as it stands.

Nothing here imports a command: `memlake --help` prints this table alone, in half a second.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Command:
    """One entry of the command's help; `target` is 'module:name' of a function or of a cyclopts App."""

    name: str
    target: str
    help: str
    examples: tuple[str, ...]

    @property
    def epilogue(self) -> str:
        """The examples as the last lines of the command's own help."""
        return "\n".join(["Examples:", *(f"  {example}" for example in self.examples)])


COMMANDS = (
    Command(
        "demo",
        "memlake.flows.cli.commands.demo:demo",
        "The whole path on built-in transcripts: offline, in a minute.",
        ("memlake demo", "memlake demo --lake ./demo-lake --json"),
    ),
    Command(
        "ingest",
        "memlake.flows.cli.commands.ingest:ingest",
        "Read transcripts into a lake and publish one snapshot.",
        ("memlake ingest chats.jsonl --corpus team", "memlake ingest 'exports/*.json' --corpus team --dry-run --json"),
    ),
    Command(
        "represent",
        "memlake.flows.cli.commands.represent:represent",
        "Make further representations from the stored turns.",
        (
            "memlake represent turns sentences --corpus team",
            "memlake represent artifacts --corpus team --model gpt-4o-mini --plan",
            "memlake represent artifacts --corpus team --model gpt-4o-mini --max-in-flight 32 --max-cost 5",
        ),
    ),
    Command(
        "embed",
        "memlake.flows.cli.commands.embed:embed",
        "Embed the stored units.",
        ("memlake embed --corpus team", "memlake embed --corpus team --representations turns --embedder static"),
    ),
    Command(
        "link",
        "memlake.flows.cli.commands.link:link",
        "Link stored units that are alike.",
        (
            "memlake link turns --corpus team",
            "memlake link turns --corpus team --threshold 0.6 --k 5 --relation close",
            "memlake link turns --corpus team --shared-word-threshold 0.3 --k 0 --relation published",
        ),
    ),
    Command(
        "search",
        "memlake.flows.cli.commands.search:search",
        "Show what a plan retrieves for a text.",
        ("memlake search 'when does the lease end' --corpus team", "memlake search lease --corpus team --k 3 --json"),
    ),
    Command(
        "study",
        "memlake.flows.cli.commands.study:app",
        "Measure representations on questions: plan, run, ls, show, compare, gate.",
        (
            "memlake study plan locomo-retrieval",
            "memlake study run locomo-retrieval --corpus locomo",
            "memlake study show RUN --by category",
            "memlake study compare RUN/chunks OTHER_RUN/chunks",
            "memlake study gate locomo-retrieval",
        ),
    ),
    Command(
        "report",
        "memlake.flows.cli.commands.report:report",
        "A run of a study as one page: figures, controls, every question.",
        ("memlake report RUN --out report.html", "memlake report RUN --json"),
    ),
    Command(
        "probes",
        "memlake.flows.cli.commands.probes:probes",
        "Write synthetic conversations with planted facts and questions.",
        (
            "memlake probes ./probes --seed 7 --conversations 40 --turns 60 --fit 0.5 --split test",
            "memlake probes ./probes --fit 0,0.25,0.5,0.75,1 --json",
        ),
    ),
    Command(
        "sql",
        "memlake.flows.cli.commands.sql:sql",
        "Ask in DuckDB SQL; every table is a view.",
        (
            "memlake sql 'select corpus, count(*) as turns from turns group by corpus'",
            "memlake sql 'select * from turns' --out turns.parquet",
            "memlake sql --file REPORT --param run_id=RUN --json",
        ),
    ),
    Command(
        "tables",
        "memlake.flows.cli.commands.tables:app",
        "Look at the tables and check them: ls, show, verify.",
        ("memlake tables ls", "memlake tables show turns", "memlake tables verify"),
    ),
    Command(
        "snapshots",
        "memlake.flows.cli.commands.snapshots:app",
        "Versions of the lake: ls, diff, tag, restore.",
        (
            "memlake snapshots ls",
            "memlake snapshots tag before-cleaning",
            "memlake snapshots diff before-cleaning latest",
        ),
    ),
    Command(
        "forget",
        "memlake.flows.cli.commands.forget:forget",
        "Take a conversation out; ingest will not bring it back.",
        ("memlake forget C-17 --corpus team",),
    ),
    Command(
        "doctor",
        "memlake.flows.cli.commands.doctor:doctor",
        "Versions, settings and their origins, the lake's state.",
        ("memlake doctor", "memlake doctor --lake ./lake --json"),
    ),
    Command(
        "completion",
        "memlake.flows.cli.commands.completion:completion",
        "Print a completion script for a shell.",
        ("memlake completion bash > ~/.local/share/bash-completion/completions/memlake",),
    ),
)


def epilogue(name: str) -> str:
    """The examples of one command, for the help of a group that is an App of its own."""
    return next(command.epilogue for command in COMMANDS if command.name == name)
