"""The command line: the list of commands and their exit codes; errors are one sentence.

A command is imported when it is called.

Exit codes:

0    done
1    some inputs failed, or the output pipe was closed; the rest was done
2    usage: a setting, an image or the machine must be changed first
3    a model or run that is damaged, or not what it is taken for
130  interrupted
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import cyclopts
from cyclopts import App, Group, Parameter

from memoryless.cli.arguments import check_whole_numbers, fill_from_file
from memoryless.errors import ConfigError, MemorylessError, cause, extras
from memoryless.names import as_flags, in_words, printable
from memoryless.output import printing

if TYPE_CHECKING:
    from cyclopts.help import HelpPanel
    from rich.console import Console, ConsoleOptions

# Each line is the beginning of the command's docstring, which a test compares.
WITH_PHOTOS = {
    "learn": "Learn new classes from photos. Creates MODEL if it does not exist.",
    "predict": "Name the class of each photo, or answer that none fits.",
    "evaluate": "Measure a model on test photos of its classes.",
    "show": "Show a model: classes, photos, when they were learned, and what is stored.",
    "undo": "Go back to the state before the last change.",
    "rename": "Give a class another name.",
    "forget": "Forget classes for good: this cannot be undone.",
    "merge": "Merge models into a new one, equal to a model that learned all their photos.",
    "audit": "Measure how well attacks find out which photos a model learned.",
    "check": "Read all of a model's file and compare it with its checksums.",
    "export": "Write a model as one ONNX file for other programs, or as one .memoryless file to "
    "send.",
    "serve": "Teach and ask a model in the browser, or over HTTP. Creates MODEL if it does not "
    "exist.",
    "samples": "Write some drawings as folders of PNG files, to try the commands without photos.",
}
TRAINING = {
    "demo": "Teach a model some drawings in two states; then compare methods on 100 classes in ten "
    "states.",
    "run": "Learn a stream of classes state by state and score every method after each.",
    "paper": "Train the methods of the paper's table and compare them with the published numbers.",
}
READING = {
    "table": "Show the accuracies of finished runs, with the control, chance and Full.",
    "compare": "Score any combinations of head, calibration and transport on finished runs.",
    "figures": "Draw rows, feature similarity, accuracy, confusion between states and bytes kept.",
    "report": "Write one HTML page about finished runs: accuracies, charts, classes, settings.",
}
NAMES = {"list": "Explain the names that settings take: strategies, heads, methods and the rest."}
LABORATORY = TRAINING | READING | NAMES
GROUPS = (Group("With photos", sort_key=0), Group("Laboratory", sort_key=1))
SEVERAL = {
    "learn": "MODEL PHOTOS...",
    "predict": "MODEL PHOTOS...",
    "forget": "MODEL CLASS...",
    "merge": "OUT MODELS...",
}
"""Arguments of commands that take several things, which cyclopts would show as ARGS."""
NARROWEST = 40  # columns of help


def _default_in_words(value: object) -> str | None:
    """Return a default for the help; nothing where the setting's own text explains it."""
    return None if value in (None, (), "") else in_words(value)


def _in_sections(console: Console, options: ConsoleOptions, panel: HelpPanel) -> None:
    from memoryless.lab.settings_help import in_sections  # imports all settings

    in_sections(console, options, panel)


def _usage(name: str) -> str | None:
    if name in SEVERAL:
        return f"memoryless {name} {SEVERAL[name]} [OPTIONS]"
    if name in NAMES:
        return f"memoryless {name} [KIND]"
    return f"memoryless {name} RUNS... [OPTIONS]" if name in READING else None


app = App(
    name="memoryless",
    help="Learn new image classes over time and keep no image of the past.",
    version_flags=["--version"],
    default_parameter=Parameter(
        consume_multiple=True, negative_iterable=(), show_default=_default_in_words
    ),
    config=[fill_from_file, check_whole_numbers],
    suppress_keyboard_interrupt=False,
)
for i, (name, about) in enumerate(WITH_PHOTOS.items()):
    place = "serve" if name == "serve" else "photos"
    app.command(
        f"memoryless.{place}.{name}:{name}",
        help=about,
        group=GROUPS[0],
        sort_key=i,
        usage=_usage(name),
        default_parameter=Parameter(negative_bool=()),
    )
for i, (name, about) in enumerate(LABORATORY.items()):
    module = "list_names" if name == "list" else name  # list.py would hide Python's own
    place = "cli" if name == "demo" else "lab"
    app.command(
        f"memoryless.{place}.{module}:{module}",
        name=name,
        help=about,
        group=GROUPS[1],
        sort_key=i,
        usage=_usage(name),
        help_formatter=_in_sections if name == "run" else None,
    )
app.register_install_completion_command(
    help="Install shell completion (open a new terminal afterwards)."
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
        _whole_help(words)
        with extras():
            code = app(
                words,
                console=_console_for_help() if not words or {"--help", "-h"} & set(words) else None,
                exit_on_error=False,
                print_error=False,
                result_action="return_value",
            )
        with printing():
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


def _whole_help(words: Sequence[str]) -> None:
    """Let the help of a command be all of its docstring, not only the line in the list."""
    if words and words[0] in WITH_PHOTOS | LABORATORY:
        app[words[0]].help = None


def _console_for_help() -> Console:
    """Return a console that is wide enough: with few columns rich lays help out without an end."""
    from rich.console import Console

    console = Console()
    console.width = max(console.width, NARROWEST)
    return console


def _was_interrupted(error: BaseException | None) -> bool:
    """Return whether this is an interrupt, or an error that a library made of one on its import."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt) or "KeyboardInterrupt" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def _stopped(words: Sequence[str]) -> str:
    """Return what an interrupted command leaves behind."""
    command = words[0] if words else ""
    if command in WITH_PHOTOS:
        return "interrupted; the model is unchanged unless the command had printed that it is done"
    if command in TRAINING:
        return "interrupted; the same command continues after the last finished epoch"
    return "interrupted; the runs are unchanged"


def _reason(error: OSError | MemoryError) -> str:
    if isinstance(error, MemoryError):
        return "there is not enough memory: close other programs, or ask for less"
    place = f": {error.filename}" if error.filename else ""
    return f"{cause(error)}{place}"


def _fail(message: str, code: int) -> int:
    line = printable(as_flags(" ".join(message.split())))  # always one line
    print("memoryless:", line, file=sys.stderr)
    return code


def _sentence(error: cyclopts.CycloptsError) -> str:
    if isinstance(error, cyclopts.UnusedCliTokensError):
        left = " ".join(error.unused_tokens or [])
        return f"unexpected '{left}': settings are given as --name value; see --help"
    text = str(error)
    return text[:1].lower() + text[1:]
