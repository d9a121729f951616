"""`python -m memoryless` is the command `memoryless`."""

import sys


def main() -> int:
    """Run a command; gives its exit code, also where it is interrupted before it has begun."""
    try:
        from memoryless.interrupts import WholeImports

        sys.meta_path.insert(0, WholeImports)
        from memoryless.cli import main as run

        code = run()
    except KeyboardInterrupt:
        print("memoryless: stopped", file=sys.stderr)
        code = 130
    # Python notes an interrupt of code that it runs from text, as dataclasses are made, and would
    # end by SIGINT although it was caught; running other text takes the note away.
    exec("")
    return code


if __name__ == "__main__":
    sys.exit(main())
