"""The command line: thin, one file for each command; errors are one sentence.

Exit codes:

0    done
1    some inputs failed, or nobody read the output to its end; the rest was done
2    usage: a setting, an image or the machine must be changed first
3    a model or run that is damaged, or not what it is taken for
130  interrupted
"""

from __future__ import annotations

import difflib
import io
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import cyclopts
from cyclopts import App, Group, Parameter

from memoryless.cli.arguments import check_whole_numbers, fill_from_file
from memoryless.cli.audit import audit
from memoryless.cli.check import check
from memoryless.cli.compare import compare
from memoryless.cli.demo import demo
from memoryless.cli.evaluate import evaluate
from memoryless.cli.export import export
from memoryless.cli.figures import figures
from memoryless.cli.forget import forget
from memoryless.cli.learn import learn
from memoryless.cli.list_names import list_names
from memoryless.cli.merge import merge
from memoryless.cli.paper import paper
from memoryless.cli.predict import predict
from memoryless.cli.rename import rename
from memoryless.cli.report import report
from memoryless.cli.run import run
from memoryless.cli.samples import samples
from memoryless.cli.settings_help import default_in_words, in_sections
from memoryless.cli.show import show
from memoryless.cli.table import table
from memoryless.cli.undo import undo
from memoryless.errors import ConfigError, MemorylessError, extras, telling
from memoryless.names import as_flags, printable

if TYPE_CHECKING:
    from rich.console import Console

app = App(
    name="memoryless",
    help="Learn new image classes over time and keep no image of the past.",
    version_flags=["--version"],
    default_parameter=Parameter(
        consume_multiple=True, negative_iterable=(), show_default=default_in_words
    ),
    config=[fill_from_file, check_whole_numbers],
    suppress_keyboard_interrupt=False,
)
Command = Callable[..., Any]
WITH_PHOTOS: list[Command] = [learn, predict, evaluate, show, undo, rename, forget, merge]
WITH_PHOTOS += [audit, check, export, samples]
TRAINING: list[Command] = [demo, run, paper]
READING: list[Command] = [table, compare, figures, report]
LABORATORY = [*TRAINING, *READING, list_names]
GROUPS = (Group("With photos", sort_key=0), Group("Laboratory", sort_key=1))
NARROWEST = 40  # columns of help
SWITCHES = Parameter(negative_bool=())
for i, command in enumerate(WITH_PHOTOS):
    app.command(command, group=GROUPS[0], sort_key=i, default_parameter=SWITCHES)
USAGES = {list_names: "memoryless list [KIND]"}
USAGES |= {c: f"memoryless {c.__name__} RUNS... [OPTIONS]" for c in READING}
for i, command in enumerate(LABORATORY):
    app.command(
        command,
        name="list" if command is list_names else None,
        group=GROUPS[1],
        sort_key=i,
        usage=USAGES.get(command),
        help_formatter=in_sections if command is run else None,
    )
app.register_install_completion_command(
    help="Let the shell complete commands and flags; a new terminal does so."
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; gives its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that lacks a sign shows "?"
    words = sys.argv[1:] if arguments is None else list(arguments)
    try:
        if "" in words:  # which a path would take for the folder that one is in
            raise ConfigError("an argument is empty, perhaps a variable that was not set: name it")
        with extras():
            code = app(
                words,
                console=_console_for_help() if not words or {"--help", "-h"} & set(words) else None,
                exit_on_error=False,
                print_error=False,
                result_action="return_value",
            )
        with telling():
            sys.stdout.flush()
    except MemorylessError as error:
        return _fail(str(error), error.exit_code)
    except cyclopts.CycloptsError as error:
        return _fail(_sentence(error), 2)
    except BrokenPipeError:  # the reader of our output has gone, as with `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (OSError, MemoryError) as error:  # what no layer below could say better
        return _fail(_reason(error), 2)
    except (KeyboardInterrupt, ImportError, SystemError) as error:
        if not _was_interrupted(error):
            raise
        return _fail(_stopped(words), 130)
    return code if isinstance(code, int) else 0


def _console_for_help() -> Console:
    """A console that is wide enough: below some columns, rich lays help out without an end."""
    from rich.console import Console

    console = Console()
    console.width = max(console.width, NARROWEST)
    return console


def _was_interrupted(error: BaseException | None) -> bool:
    """Whether a library that was being imported has made an error of its own of an interrupt."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt) or "KeyboardInterrupt" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def _stopped(words: Sequence[str]) -> str:
    """What a command leaves behind that was interrupted."""
    command = words[0] if words else ""
    if command in {one.__name__ for one in WITH_PHOTOS}:
        return "stopped; the model is as it was, unless the command had said that it is done"
    if command in {one.__name__ for one in TRAINING}:
        return "stopped; the same command goes on from the last finished epoch"
    return "stopped; the runs are as they were"


def _reason(error: OSError | MemoryError) -> str:
    if isinstance(error, MemoryError):
        return "there is not enough memory: close other programs, or ask for less"
    place = f": {error.filename}" if error.filename else ""
    return f"{error.strerror or str(error) or type(error).__name__}{place}"


def _fail(message: str, code: int) -> int:
    line = printable(as_flags(" ".join(message.split())))  # always one line
    print("memoryless:", line, file=sys.stderr)
    return code


def _sentence(error: cyclopts.CycloptsError) -> str:
    if isinstance(error, cyclopts.UnusedCliTokensError):
        left = " ".join(error.unused_tokens or [])
        return f"unexpected '{left}': settings are given as --name value; see --help"
    text = str(error)
    if isinstance(error, cyclopts.UnknownOptionError):
        text = text.partition(" Did you mean")[0] + _suggestion(error)
    return text[:1].lower() + text[1:]


def _suggestion(error: cyclopts.UnknownOptionError) -> str:
    """The flag that was meant, by letters alone: dashes, which all flags share, say nothing."""
    typed = (error.token.keyword or error.token.value).strip('-[]"')
    flags = {name.strip("-"): name for a in error.argument_collection for name in a.names}
    close = difflib.get_close_matches(typed.replace("_", "-"), flags, n=1)
    return f" Did you mean {flags[close[0]]}?" if close else ""
