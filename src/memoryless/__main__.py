"""`python -m memoryless` is the command `memoryless`."""

import sys

from memoryless.cli import main

sys.exit(main())
