"""CIFAR's files and archives are read to the last bit, run nothing and have their size."""

from __future__ import annotations

import gzip
import io
import os
import pickle
import tarfile
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import torch

from cifar_toys import as_python_2, make_cifar
from memoryless.errors import DataError
from memoryless.images import cifar
from memoryless.images.cifar import LAYOUTS
from memoryless.images.sources import load
from memoryless.settings import DataSettings


@pytest.mark.parametrize("name", LAYOUTS)
def test_cifar_reads_folder_archive_and_environment_alike(name, tmp_path, monkeypatch):
    folder = make_cifar(tmp_path, name)
    archive = tmp_path / "packed" / LAYOUTS[name].archive
    archive.parent.mkdir()
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(folder, folder.name)
    monkeypatch.setenv("MEMORYLESS_DATA", str(archive.parent))
    read = [load(DataSettings(data=name, root=r)) for r in (tmp_path, folder, archive, None)]
    for dataset in read[1:]:
        assert dataset.classes == read[0].classes
        assert torch.equal(dataset.train.images.pixels, read[0].train.images.pixels)
    first = pickle.loads(
        (folder / LAYOUTS[name].train[0])
        .read_bytes()
        .replace(b"numpy.core.multiarray", b"numpy._core.multiarray")
    )
    assert (read[0].train.read(np.array([0])).numpy().ravel() == first[b"data"][0]).all()


class Attack:
    def __reduce__(self):
        return Path.touch, (Path("attacked"),)


@pytest.mark.parametrize(
    ("file", "content", "reason"),
    [
        ("train", {b"data": Attack(), b"fine_labels": [0]}, "it asks for"),
        ("train", {b"data": np.array([Attack()], dtype=object)}, "it asks for"),
        ("train", {b"data": print}, "it asks for"),
        ("train", {b"other": 1}, "data"),
        ("train", b"\x80\x03garbage", ""),
        ("test", None, "it lacks test"),
        ("test", [], ""),
        ("meta", {}, "fine_label_names"),
        ("train", 6 * 2**30, "train has more than 250,000,000 bytes"),
    ],
)
def test_files_that_are_not_as_published(file, content, reason, tmp_path, monkeypatch):
    """No pickle runs anything, and no file is read that is larger than CIFAR's."""
    monkeypatch.chdir(tmp_path)
    path = make_cifar(tmp_path, "cifar100") / file
    if content is None:
        path.unlink()
    elif isinstance(content, int):
        os.truncate(path, content)
    else:
        path.write_bytes(content if isinstance(content, bytes) else as_python_2(content))
    with pytest.raises(DataError, match=rf"does not hold cifar100 as it is .*\(.*{reason}"):
        load(DataSettings(data="cifar100", root=tmp_path))
    assert not Path("attacked").exists()


def test_no_cifar_at_all(tmp_path):
    with pytest.raises(DataError, match=r"cifar100 is not in .*MEMORYLESS_DATA"):
        load(DataSettings(data="cifar100", root=tmp_path))


@pytest.fixture(scope="module")
def small_archive(tmp_path_factory) -> bytes:
    """CIFAR-10 in miniature, as the official archive packs it."""
    folder = make_cifar(tmp_path_factory.mktemp("cifar"), "cifar10")
    packed = io.BytesIO()
    with (
        gzip.GzipFile(LAYOUTS["cifar10"].archive, "wb", fileobj=packed, mtime=0) as file,
        tarfile.open(fileobj=file, mode="w") as tar,
    ):
        tar.add(folder, folder.name)
    return packed.getvalue()


def test_every_flipped_bit_and_cut_of_an_archive_is_found(small_archive, tmp_path):
    """But in the header's time, system and name, and the bits after the last, which are no data."""
    place = tmp_path / "c.tar.gz"
    place.write_bytes(small_archive)
    config = DataSettings(data="cifar10", root=place)
    pixels = load(config).train.images.pixels
    harmless = {*range(10 + len("cifar-10-python.tar\0")), len(small_archive) - 9}
    rng = np.random.default_rng(0)
    places = {*range(100), *range(len(small_archive) - 60, len(small_archive))}
    for i in sorted(places | set(rng.integers(0, len(small_archive), 100).tolist())):
        flipped = bytearray(small_archive)
        flipped[i] ^= 1 << int(rng.integers(8))
        place.write_bytes(flipped)
        try:
            loaded = load(config).train.images.pixels
        except DataError as error:
            assert str(error).startswith(f"{place} does not hold cifar10 as it is published (")
        else:
            assert i in harmless
            assert torch.equal(loaded, pixels)
    for cut in (1, 8, 1000):
        place.write_bytes(small_archive[:-cut])
        with pytest.raises(DataError, match="does not hold cifar10"):
            load(config)


def test_an_archive_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(cifar, "LARGEST", 1_000_000)
    place = tmp_path / "c.tar.gz"
    place.write_bytes(gzip.compress(bytes(50_000_000)))
    tracemalloc.start()
    with pytest.raises(DataError, match=r"it has more than 1,000,000 bytes, which nothing"):
        load(DataSettings(data="cifar100", root=place))
    assert tracemalloc.get_traced_memory()[1] < 5_000_000
    tracemalloc.stop()


def test_a_sparse_member_of_6_gigabytes_is_refused(tmp_path):
    member = tarfile.TarInfo("cifar-100-python/train")
    member.type = tarfile.GNUTYPE_SPARSE
    header = bytearray(member.tobuf(tarfile.GNU_FORMAT))
    header[386:482] = bytes(96)
    header[386:410] = b"%011o\0%011o\0" % (0, 0)  # one piece, which is empty
    header[483:495] = b"%011o\0" % (6 * 2**30)  # the size with its holes
    header[148:156] = b"        "
    header[148:156] = b"%06o\0 " % sum(header)
    place = tmp_path / "c.tar.gz"
    place.write_bytes(gzip.compress(bytes(header) + bytes(1024)))
    with pytest.raises(DataError, match="train has more than 250,000,000 bytes"):
        load(DataSettings(data="cifar100", root=place))


@pytest.mark.parametrize("key", [b"data", b"fine_labels"])
def test_numbers_that_are_not_whole_are_refused(key, tmp_path):
    folder = make_cifar(tmp_path, "cifar100")
    content = {b"data": np.zeros((2, 3072), dtype=np.uint8), b"fine_labels": [0, 1]}
    content[key] = content[key] + np.float64(0.5)
    (folder / "train").write_bytes(as_python_2(content))
    with pytest.raises(DataError, match="not float64"):
        load(DataSettings(data="cifar100", root=tmp_path))
