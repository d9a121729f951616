#!/usr/bin/env bash
# Installs the package without its extras into a new environment, and uses it on drawings there.
set -euo pipefail
root="$(cd "$(dirname "$0")/.." && pwd)"
place="$(mktemp -d)"
trap 'rm -rf "$place"' EXIT
"${1:-python3}" -m venv "$place/venv"
cd "$root" && "$place/venv/bin/python" -m pip install --quiet -c constraints.txt .
cd "$place" && export PATH="$place/venv/bin:$PATH"
if python -c 'import torch' 2> /dev/null; then echo 'torch is installed' >&2 && exit 1; fi
memoryless samples drawings > /dev/null
mkdir first later
mv drawings/train/a* first/
mv drawings/train/* later/
memoryless learn one first
memoryless learn two later
memoryless merge both one two
memoryless predict both drawings/test/ant
memoryless evaluate both drawings/test --json > scores.json
python -c 'import json; assert json.load(open("scores.json"))["top1"] > 0.5'
memoryless forget both ant
memoryless export both both.onnx
if memoryless run 2> said; then exit 1; fi
grep -q "pip install 'memoryless\[lab\]'" said
