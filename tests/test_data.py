"""Every source gives a sound data set, and bad input one clear error."""

from __future__ import annotations

import pickle
import tarfile
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from memoryless.data import SOURCES, from_arrays, hold_out, load
from memoryless.data.cifar import LAYOUTS
from memoryless.data.decode import FileImages, decode
from memoryless.errors import ConfigError, DataError
from memoryless.settings import DataSettings

COLOURS = {"blue": (0, 0, 255), "green": (0, 255, 0), "red": (255, 0, 0)}


def make_folder(root: Path, images: int = 5, side: int = 12) -> Path:
    """Three classes of speckled colours, of several sizes, with spaces in their names."""
    rng = np.random.default_rng(0)
    for name, colour in COLOURS.items():
        (root / name).mkdir(parents=True)
        for i in range(images):
            pixels = (np.array(colour) + rng.integers(0, 120, (side, side + i, 3))) // 2
            Image.fromarray(pixels.astype(np.uint8)).save(root / name / f"{i} a.png")
    return root


def make_lists(root: Path) -> dict[str, Path]:
    make_folder(root / "images")
    for split, numbers in (("train", range(4)), ("test", range(4, 5))):
        lines = [f"images/{name}/{i} a.png {label}"
                 for label, name in enumerate(COLOURS) for i in numbers]  # fmt: skip
        (root / f"{split}.txt").write_text("\n".join(lines) + "\n\n")
    return {"train_list": root / "train.txt", "test_list": root / "test.txt"}


def as_python_2(content: dict) -> bytes:
    """A pickle that names NumPy's functions as the official files do."""
    pickled = pickle.dumps(content, protocol=3)
    return pickled.replace(b"numpy._core.multiarray", b"numpy.core.multiarray")


def make_cifar(root: Path, name: str, classes: int = 10) -> Path:
    layout = LAYOUTS[name]
    folder = root / layout.folder
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    for file in (*layout.train, *layout.test):
        labels = list(range(classes)) * 2
        pixels = rng.integers(0, 256, (len(labels), 3072), dtype=np.uint8)
        content = {b"data": pixels, layout.label_key: labels, b"filenames": [b"x.png"]}
        (folder / file).write_bytes(as_python_2(content))
    names = [f"class {i}".encode() for i in range(classes)]
    (folder / layout.meta).write_bytes(as_python_2({layout.names_key: names}))
    return folder


def make_source(name: str, root: Path) -> DataSettings:
    if name == "folder":
        return DataSettings(data=name, root=make_folder(root), image_size=8)
    if name == "list":
        return DataSettings(data=name, image_size=8, **make_lists(root))
    if name == "quickdraw100":
        return DataSettings()
    make_cifar(root, name)
    return DataSettings(data=name, root=root)


@pytest.mark.parametrize("name", SOURCES)
def test_source_contract(name, tmp_path):
    """uint8 squares that can be read in any order, every class in both splits, no overlap."""
    dataset = load(make_source(name, tmp_path))
    for split in (dataset.train, dataset.test):
        assert set(split.labels) == set(range(len(dataset.classes)))
        positions = np.array([len(split) - 1, 0])
        images = split.read(positions)
        assert images.dtype == torch.uint8
        assert images.shape == (2, *split.images.shape)
        assert torch.equal(images[1:], split.read(np.array([0])))
        assert split.stored_bytes > 0
    if dataset.train.images is dataset.test.images:
        assert not set(dataset.train.indices) & set(dataset.test.indices)
    assert dataset.image_size >= 8


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


@pytest.mark.parametrize("payload", [Attack(), np.array([Attack()], dtype=object), print])
def test_cifar_pickles_run_nothing(tmp_path, monkeypatch, payload):
    monkeypatch.chdir(tmp_path)
    folder = make_cifar(tmp_path, "cifar100")
    (folder / "train").write_bytes(as_python_2({b"data": payload, b"fine_labels": [0]}))
    with pytest.raises(DataError, match="train is damaged or not genuine: it asks for"):
        load(DataSettings(data="cifar100", root=tmp_path))
    assert not Path("attacked").exists()


def test_cifar_says_what_is_wrong(tmp_path):
    with pytest.raises(DataError, match=r"cifar100 is not in .*MEMORYLESS_DATA"):
        load(DataSettings(data="cifar100", root=tmp_path))
    folder = make_cifar(tmp_path, "cifar100")
    (folder / "train").write_bytes(b"\x80\x03garbage")
    with pytest.raises(DataError, match="train is damaged"):
        load(DataSettings(data="cifar100", root=tmp_path))
    (folder / "train").write_bytes(as_python_2({b"other": 1}))
    with pytest.raises(DataError, match="not in the official layout"):
        load(DataSettings(data="cifar100", root=tmp_path))
    (folder / "test").unlink()
    with pytest.raises(DataError, match="lacks the files test"):
        load(DataSettings(data="cifar100", root=tmp_path))
    broken = tmp_path / "cut.tar.gz"
    broken.write_bytes(b"\x1f\x8b\x08\x00cut")
    with pytest.raises(DataError, match=r"cut.tar.gz cannot be read"):
        load(DataSettings(data="cifar100", root=broken))


def test_folder_holds_out_the_same_share_each_time(tmp_path):
    config = DataSettings(data="folder", root=make_folder(tmp_path), test_share=0.4, image_size=8)
    one, two = load(config), load(config)
    assert (np.bincount(one.test.labels) == 2).all()
    assert (one.test.indices == two.test.indices).all()
    assert one.classes == ("blue", "green", "red")


def test_folder_with_train_and_test(tmp_path):
    make_folder(tmp_path / "train", images=4)
    make_folder(tmp_path / "test", images=2)
    dataset = load(DataSettings(data="folder", root=tmp_path, image_size=8))
    assert (len(dataset.train), len(dataset.test)) == (12, 6)
    (tmp_path / "test" / "yellow").mkdir()
    with pytest.raises(DataError, match="1 classes without training images: yellow"):
        load(DataSettings(data="folder", root=tmp_path))


def test_broken_files_are_all_named_before_training(tmp_path):
    make_folder(tmp_path)
    for i in range(12):
        (tmp_path / "red" / f"bad{i:02d}.png").write_bytes(b"no image")
    (tmp_path / "red" / ".hidden").write_bytes(b"ignored")
    (tmp_path / "red" / "Thumbs.db").write_bytes(b"ignored")
    config = DataSettings(data="folder", root=tmp_path, image_size=8)
    with pytest.raises(DataError) as caught:
        load(config)
    message = str(caught.value)
    assert message.startswith(f"12 entries of {tmp_path.name} cannot be used: ")
    assert all(f"bad{i:02d}.png (not an image)" in message for i in range(10))
    assert message.endswith("and 2 more; mend them, or leave them out with --skip-broken")
    dataset = load(DataSettings(data="folder", root=tmp_path, image_size=8, skip_broken=True))
    assert len(dataset.train) + len(dataset.test) == 15
    assert dataset.notes[0].startswith(f"left out 12 entries of {tmp_path.name}: ")


def test_truncated_images_are_found(tmp_path):
    make_folder(tmp_path)
    noise = np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    for suffix in ("jpg", "png"):
        path = tmp_path / "red" / f"cut.{suffix}"
        Image.fromarray(noise).save(path)
        path.write_bytes(path.read_bytes()[:-600])
    with pytest.raises(DataError, match="2 entries") as caught:
        load(DataSettings(data="folder", root=tmp_path, image_size=8))
    assert "cut.jpg" in str(caught.value)
    assert "cut.png" in str(caught.value)


def test_empty_classes(tmp_path):
    make_folder(tmp_path)
    (tmp_path / "empty").mkdir()
    config = DataSettings(data="folder", root=tmp_path, image_size=8)
    (tmp_path / "red" / "bad.png").write_bytes(b"no image")
    with pytest.raises(DataError) as caught:
        load(config)
    for part in (
        "3 entries of",
        "bad.png (not an image)",
        "class empty (it has no training image)",
    ):
        assert part in str(caught.value)
    dataset = load(DataSettings(data="folder", root=tmp_path, image_size=8, skip_broken=True))
    assert dataset.classes == ("blue", "green", "red")
    assert set(dataset.train.labels) == {0, 1, 2}
    assert "class empty (it has no test image)" in dataset.notes[0]


@pytest.mark.parametrize(
    ("config", "error", "message"),
    [
        (DataSettings(data="folder"), ConfigError, "add --root FOLDER"),
        (DataSettings(data="folder", root=Path("nowhere")), DataError, "no folder nowhere"),
        (DataSettings(data="list"), ConfigError, "needs both --train-list FILE and --test-list"),
        (DataSettings(data="cifar1000"), ConfigError, "did you mean 'cifar100'"),
        (
            DataSettings(data="list", train_list=Path("a.txt"), test_list=Path("b.txt")),
            DataError,
            "the file a.txt cannot be read",
        ),
    ],
)
def test_bad_sources(config, error, message):
    with pytest.raises(error, match=message):
        load(config)


def test_folder_without_classes(tmp_path):
    with pytest.raises(DataError, match="has no class folders"):
        load(DataSettings(data="folder", root=tmp_path))


def test_bad_list_lines_and_labels_are_all_named(tmp_path):
    lists = make_lists(tmp_path)
    with lists["train_list"].open("a") as file:
        file.write("no label here\nimages/red/gone.png 2\nimages/red/0 a.png -1\nlonely\n")
    with lists["test_list"].open("a") as file:
        file.write("images/red/0 a.png 7\n")
    config = DataSettings(data="list", image_size=8, **lists)
    with pytest.raises(DataError) as caught:
        load(config)
    message = str(caught.value)
    assert message.startswith("5 entries of train cannot be used: ")
    for part in ("train.txt line 14 (not 'path label')", "train.txt line 16", "line 17",
                 "0 a.png (label 7 is not below 3)", "gone.png (", "No such file"):  # fmt: skip
        assert part in message
    kept = load(DataSettings(data="list", image_size=8, skip_broken=True, **lists))
    assert (len(kept.train), len(kept.test)) == (12, 3)


def test_lists_take_class_names_and_a_root(tmp_path):
    lists = make_lists(tmp_path)
    names = tmp_path / "names.txt"
    names.write_text("sky\ngrass\nrose\n")
    moved = tmp_path / "elsewhere" / "train.txt"
    moved.parent.mkdir()
    lists["train_list"] = lists["train_list"].rename(moved)
    config = DataSettings(data="list", root=tmp_path, class_names=names, image_size=8, **lists)
    assert load(config).classes == ("sky", "grass", "rose")
    names.write_text("sky\ngrass\n")
    with pytest.raises(DataError, match="label 2 is not below 2"):
        load(config)


def test_every_kind_of_image_decodes(tmp_path):
    """Grey, colour, transparent, palette, CMYK, 16 bits: all to the same red square."""
    red = Image.new("RGB", (20, 10), (255, 0, 0))
    kinds = {
        "rgb.png": red,
        "rgba.png": red.convert("RGBA"),
        "palette.png": red.convert("P", palette=Image.Palette.ADAPTIVE),
        "cmyk.jpg": red.convert("CMYK"),
        "rgb.bmp": red,
        "rgb.webp": red,
    }
    for name, image in kinds.items():
        image.save(tmp_path / name, quality=95) if name[-3:] in ("jpg", "ebp") else image.save(
            tmp_path / name
        )
        pixels = decode(tmp_path / name, side=6)
        assert pixels.shape == (6, 6, 3), name
        assert np.abs(pixels.astype(int) - [255, 0, 0]).max() <= 8, name
    Image.new("L", (9, 9), 100).save(tmp_path / "grey.png")
    assert (decode(tmp_path / "grey.png", 4) == 100).all()
    assert decode(tmp_path / "grey.png", 4, grey=True).shape == (4, 4, 1)
    Image.fromarray(np.full((9, 9), 100 * 257, dtype=np.uint16)).save(tmp_path / "deep.png")
    assert (decode(tmp_path / "deep.png", 4) == 100).all()
    Image.fromarray(np.full((9, 9), 100 * 257, dtype=np.uint16)).save(tmp_path / "deep.tif")
    assert (decode(tmp_path / "deep.tif", 4) == 100).all()
    Image.new("RGBA", (9, 9), (0, 0, 0, 0)).save(tmp_path / "clear.png")
    assert (decode(tmp_path / "clear.png", 4) == 255).all()


def test_exif_rotation_is_applied(tmp_path):
    image = Image.new("L", (16, 16), 0)
    image.paste(255, (0, 0, 16, 8))  # white above
    exif = Image.Exif()
    exif[0x0112] = 6  # "rotate 90 degrees clockwise to see it upright"
    image.save(tmp_path / "turned.jpg", exif=exif, quality=95)
    pixels = decode(tmp_path / "turned.jpg", side=16, grey=True)[..., 0]
    assert pixels[:, 10:].mean() > 250
    assert pixels[:, :6].mean() < 5


def test_mixed_sizes_make_one_batch(tmp_path):
    paths = []
    for i, size in enumerate([(5, 9), (30, 10), (16, 16)]):
        paths.append(tmp_path / f"{i}.png")
        Image.new("RGB", size, (i, i, i)).save(paths[-1])
    images = FileImages(paths, side=8)
    batch = images.read(np.array([2, 0, 1]))
    assert batch.shape == (3, 3, 8, 8)
    assert batch[:, 0, 4, 4].tolist() == [2, 0, 1]
    assert images.stored_bytes(np.array([0])) == paths[0].stat().st_size


def test_arrays_in_every_layout():
    grey = np.zeros((4, 8, 8), dtype=np.uint8)
    labels = np.array([0, 1, 0, 1])
    for images, channels in (
        (grey, 1),
        (np.zeros((4, 3, 8, 8), dtype=np.uint8), 3),
        (torch.zeros(4, 8, 8, 3, dtype=torch.uint8), 3),
    ):
        assert from_arrays(images, labels, images, torch.as_tensor(labels)).channels == channels


@pytest.mark.parametrize(
    ("images", "labels", "message"),
    [
        (np.zeros((2, 8, 8)), [0, 1], "images must be uint8"),
        (np.zeros((2, 8, 9), dtype=np.uint8), [0, 1], "images must be square"),
        (np.zeros((3, 8, 8), dtype=np.uint8), [0, 1], "one for each of the 2 labels"),
        (np.zeros((2, 8, 8), dtype=np.uint8), [0.5, 1], "one integer an image"),
        (np.zeros((2, 8, 8), dtype=np.uint8), [0, -1], "1 training labels are out of range 0..0"),
        (np.zeros((2, 8, 8), dtype=np.uint8), [0, 2], "have no training image: 1"),
    ],
)
def test_bad_arrays(images, labels, message):
    with pytest.raises(DataError, match=message):
        from_arrays(images, np.array(labels), images, np.array(labels))


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=60),
    st.floats(0.01, 0.99),
    st.integers(0, 9),
)
def test_hold_out_takes_some_of_each_class_and_leaves_some(labels, share, context):
    array = np.array(labels)
    mask = hold_out(array, share, context)
    assert (mask == hold_out(array, share, context)).all()
    for label in set(labels):
        mine = mask[array == label]
        wanted = min(max(round(len(mine) * share), 1), len(mine) - 1)
        assert mine.sum() == wanted


def test_validation_never_touches_test_images():
    whole, tuning = load(DataSettings()), load(DataSettings(validation=0.25))
    assert torch.equal(tuning.test.images.pixels, whole.train.images.pixels)
    assert (len(tuning.train), len(tuning.test)) == (6000, 2000)
    assert not set(tuning.train.indices) & set(tuning.test.indices)
