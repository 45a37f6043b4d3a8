"""The command `memlake`: parse, run, and turn every end into one exit code.

Exit codes: 0 ok, 1 failure, 2 usage, 3 more dead letters than allowed, 4 an audit or gate failed, 130 interrupted.
"""

import contextlib
import logging
import os
import signal
import sys
import threading
from collections.abc import Sequence
from types import FrameType

from cyclopts import App, CycloptsError

from memlake.flows.cli.catalogue import COMMANDS
from memlake.flows.cli.printing import output
from memlake.transforms.base.errors import GateError, MemlakeError, TooManyDeadLettersError

EXIT_FAILED, EXIT_USAGE, EXIT_INTERRUPTED = 1, 2, 130


def _version() -> str:
    from importlib.metadata import version

    return version("memlake")


def build() -> App:
    """The command with all its parts, none of them imported yet."""
    app = App(
        name="memlake",
        help="Conversation transcripts in, versioned memory tables out, and which representation remembers best.",
        help_epilogue="Every command has --help with examples. Start with: memlake demo",
        help_format="plaintext",
        help_formatter="default" if sys.stdout.isatty() else "plain",
        version=_version,
        suppress_keyboard_interrupt=False,
        print_error=False,
        exit_on_error=False,
        result_action="return_value",
    )
    for place, command in enumerate(COMMANDS):
        extra = {} if command.is_group else {"help_epilogue": command.epilogue}
        app.command(command.target, name=command.name, help=command.help, sort_key=place, **extra)
    return app


def run(tokens: Sequence[str]) -> int:
    """Run one command line and return its exit code; nothing that a user can cause leaves a traceback."""
    interrupted = _note_interrupts()
    as_json = "--json" in (tokens[: tokens.index("--")] if "--" in tokens else tokens)
    with output.stdout_for(as_json=as_json):
        # An error reaches the user once, as its line; what libraries log about it on the way is for whoever looks for it.
        logging.basicConfig()
        logging.root.handlers[0].setLevel(logging.INFO if os.environ.get("MEMLAKE_TRACEBACK") else logging.CRITICAL)
        try:
            code = build()(list(tokens))
            output.flush()
            return code if isinstance(code, int) else 0
        except MemlakeError as error:
            if interrupted.is_set():
                return _interrupted()
            done = error.document if isinstance(error, GateError | TooManyDeadLettersError) else None
            if done is None or not output.document_with_error(done, error):
                output.fail(error.code, error.message, error.hint)
            return error.exit_code
        except CycloptsError as error:
            chain = " ".join(error.command_chain or ())
            hint = f"memlake {chain} --help" if chain else "memlake --help"
            output.fail("usage", str(error), hint)
            return EXIT_USAGE
        except KeyboardInterrupt:
            return _interrupted()
        except BrokenPipeError:
            output.close_quietly()  # the reader of our output has seen enough: `memlake sql ... | head`
            return 0
        except SystemExit as error:
            if not isinstance(error.__context__, BrokenPipeError):
                raise
            output.close_quietly()  # rich, which prints help and tables, ends the process where its reader has left
            return 0
        except Exception as error:
            if interrupted.is_set():  # Beam, DuckDB and Lance each wrap an interrupt in an error of their own
                return _interrupted()
            if os.environ.get("MEMLAKE_TRACEBACK"):
                raise
            output.fail(*output.describe(error))
            return EXIT_FAILED


def _note_interrupts() -> threading.Event:
    """Let an interrupt raise KeyboardInterrupt as ever, and be remembered; where it is ignored (nohup), leave it so."""
    interrupted = threading.Event()

    def note(number: int, frame: FrameType | None) -> None:
        interrupted.set()
        signal.default_int_handler(number, frame)

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, note)
    return interrupted


def _interrupted() -> int:
    output.fail("interrupted", "interrupted; nothing half-done was published", "run it again")
    return EXIT_INTERRUPTED


def main() -> None:
    """Entry point of the installed command.

    The process ends here and now: native threads of DuckDB, Lance and Arrow may still be there, and the interpreter's
    tear-down under them has aborted commands (exit code 134) whose work was done.
    """
    code = run(sys.argv[1:])
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)
