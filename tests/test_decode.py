"""Image files of every kind decode to squares, and what does not has its reason."""

from __future__ import annotations

import io
import os
import struct
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from memoryless.images import decode as module
from memoryless.images.decode import FileImages, ImageFile, check_files, decode
from memoryless.errors import DataError


def checked(*paths: Path) -> list[ImageFile]:
    """The files, all of which must be sound."""
    files = list(check_files(paths).values())
    assert all(isinstance(f, ImageFile) for f in files), files
    return files


def saved(path: Path, value: int = 0, side: int = 8) -> Path:
    Image.new("RGB", (side, side), (value, value, value)).save(path)
    return path


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
        pixels = decode((tmp_path / name).read_bytes(), side=6)
        assert pixels.shape == (6, 6, 3), name
        assert np.abs(pixels.astype(int) - [255, 0, 0]).max() <= 8, name
    Image.new("L", (9, 9), 100).save(tmp_path / "grey.png")
    assert (decode((tmp_path / "grey.png").read_bytes(), 4) == 100).all()
    assert decode((tmp_path / "grey.png").read_bytes(), 4, grey=True).shape == (4, 4, 1)
    Image.fromarray(np.full((9, 9), 100 * 257, dtype=np.uint16)).save(tmp_path / "deep.png")
    assert (decode((tmp_path / "deep.png").read_bytes(), 4) == 100).all()
    Image.fromarray(np.full((9, 9), 100 * 257, dtype=np.uint16)).save(tmp_path / "deep.tif")
    assert (decode((tmp_path / "deep.tif").read_bytes(), 4) == 100).all()
    Image.new("RGBA", (9, 9), (0, 0, 0, 0)).save(tmp_path / "clear.png")
    assert (decode((tmp_path / "clear.png").read_bytes(), 4) == 255).all()


def test_exif_rotation_is_applied(tmp_path):
    image = Image.new("L", (16, 16), 0)
    image.paste(255, (0, 0, 16, 8))  # white above
    exif = Image.Exif()
    exif[0x0112] = 6  # "rotate 90 degrees clockwise to see it upright"
    image.save(tmp_path / "turned.jpg", exif=exif, quality=95)
    pixels = decode((tmp_path / "turned.jpg").read_bytes(), side=16, grey=True)[..., 0]
    assert pixels[:, 10:].mean() > 250
    assert pixels[:, :6].mean() < 5


def test_mixed_sizes_make_one_batch(tmp_path):
    paths = []
    for i, size in enumerate([(5, 9), (30, 10), (16, 16)]):
        paths.append(tmp_path / f"{i}.png")
        Image.new("RGB", size, (i, i, i)).save(paths[-1])
    images = FileImages(checked(*paths), side=8)
    batch = images.read(np.array([2, 0, 1]))
    assert batch.shape == (3, 3, 8, 8)
    assert batch[:, 0, 4, 4].tolist() == [2, 0, 1]
    assert images.stored_bytes(np.array([0])) == paths[0].stat().st_size


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (RuntimeError("Failed to decode frame 0: Decoding of color planes failed"),
         "broken: Failed to decode frame 0: Decoding of color planes failed"),
        (NotImplementedError("Unimplemented DXGI format 0"),
         "broken: Unimplemented DXGI format 0"),
        (AttributeError(), "broken: AttributeError"),
        (struct.error("unpack requires a buffer of 4 bytes\nand more"),
         "broken: unpack requires a buffer of 4 bytes"),
        (OSError("image file is truncated"), "image file is truncated"),
        (ValueError("x" * 999), "x" * 200),
    ],
)  # fmt: skip
def test_any_exception_of_a_decoder_is_the_reason_of_that_image(
    error, reason, tmp_path, monkeypatch
):
    def fail(*args):
        raise error

    monkeypatch.setattr(module, "to_mode", fail)
    path = saved(tmp_path / "a.png")
    assert check_files([path]) == {path: reason}


@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
def test_a_full_memory_and_an_interrupt_are_not_an_images_fault(error, tmp_path, monkeypatch):
    path = saved(tmp_path / "a.png")
    images = FileImages(checked(path), side=8)

    def fail(*args):
        raise error

    monkeypatch.setattr(module, "to_mode", fail)
    with pytest.raises(error):
        check_files([path])
    with pytest.raises(error):
        images.read(np.array([0]))


def test_formats_are_known_before_threads_ask_for_them(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(Image, "init", lambda: asked.append(threading.current_thread()))
    check_files([saved(tmp_path / "a.png")])
    assert asked[0] is threading.main_thread()


def test_an_image_that_is_nearly_a_bomb_has_its_reason_and_no_warning(tmp_path, monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1500)
    near, beyond = (saved(tmp_path / f"{side}.png", side=side) for side in (50, 60))
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        before = list(warnings.filters)
        reasons = check_files([near, beyond])
        assert warnings.filters == before
    assert set(reasons.values()) == {"it has more than 1,500 pixels"}
    assert shown == []


def test_a_picture_of_nan_has_its_reason(tmp_path):
    path = tmp_path / "nan.tif"
    pixels = np.full((8, 8), 7, dtype=np.float32)
    Image.fromarray(pixels).save(path)
    assert (decode(path.read_bytes(), 8) == 7).all()
    pixels[3, 3] = np.nan
    Image.fromarray(pixels).save(path)
    assert check_files([path]) == {path: "it holds values that are not finite"}


def jpeg_with_exif(tmp_path: Path, damage: bytes) -> Path:
    """White above, turned by EXIF, whose last entry points outside after the damage."""
    image = Image.new("L", (16, 16), 0)
    image.paste(255, (0, 0, 16, 8))
    exif = Image.Exif()
    exif[0x0112] = 6
    exif[0x010E] = "a description that lies elsewhere"
    content = io.BytesIO()
    image.save(content, "jpeg", exif=exif, quality=95)
    place = content.getvalue().index(b"\x01\x0e\x00\x02") + 8  # the offset of the description
    path = tmp_path / f"{damage.hex()}.jpg"
    path.write_bytes(
        content.getvalue()[:place] + damage + content.getvalue()[place + len(damage) :]
    )
    return path


def test_damaged_exif_is_not_read_and_gives_no_warning(tmp_path):
    path = jpeg_with_exif(tmp_path, b"\x00\x00\xff\xff")
    with pytest.warns(UserWarning):
        decode(path.read_bytes(), 16, grey=True)
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        (file,) = checked(path)
        upright = FileImages([file], side=16, grey=True).read(np.array([0]))[0, 0]
    assert shown == []
    assert not file.exif
    assert upright[:7].float().mean() > 250  # as it is stored
    sound = checked(jpeg_with_exif(tmp_path, b""))
    assert sound[0].exif
    turned = FileImages(sound, side=16, grey=True).read(np.array([0]))[0, 0]
    assert turned[:, 9:].float().mean() > 250


def test_an_image_that_vanished_or_changed_names_the_fix(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MOST_IN_MEMORY", 0)
    path = saved(tmp_path / "a.png", 1)
    images = FileImages(checked(path), side=8)
    images.read(np.array([0]))
    for change, why in (
        (lambda: path.write_bytes(b"no image"), "its bytes have changed"),
        (lambda: saved(path, 2), "its bytes have changed"),
        (path.unlink, "No such file or directory"),
        (lambda: os.mkfifo(path), "not a regular file"),
    ):
        change()
        with pytest.raises(DataError) as caught:
            images.read(np.array([0]))
        assert str(caught.value) == (
            f"the image {path} cannot be read any more ({why}): put it back as it was and run the "
            "same command again"
        )
    assert images.stored_bytes(np.array([0])) > 0  # as it was


def test_a_file_that_no_image_needs_is_not_read(tmp_path):
    path = tmp_path / "huge.png"
    with path.open("wb") as file:
        file.truncate(2**30 + 1)
    assert check_files([path]) == {path: "it has 1,073,741,825 bytes, more than 1,073,741,824"}


@pytest.mark.parametrize("grey", [False, True])
@pytest.mark.parametrize("room", [0, 2**30])
def test_images_in_memory_equal_those_decoded_anew(grey, room, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MOST_IN_MEMORY", room)
    rng = np.random.default_rng(0)
    paths = [tmp_path / f"{i}.png" for i in range(6)]
    for path in paths:
        Image.fromarray(rng.integers(0, 256, (11, 17, 3), dtype=np.uint8)).save(path)
    images = FileImages(checked(*paths), side=8, grey=grey)
    decoded = []
    anew = module._decode_again
    monkeypatch.setattr(
        module, "_decode_again", lambda file, **how: decoded.append(file) or anew(file, **how)
    )
    for order in ([3, 1, 3], [0, 1, 2, 3, 4, 5], [5, 0]):
        batch = images.read(np.array(order))
        each = [decode(paths[i].read_bytes(), 8, grey) for i in order]
        expected = torch.from_numpy(np.stack(each)).permute(0, 3, 1, 2)
        assert torch.equal(batch, expected)
        assert batch.stride() == expected.stride()  # kernels round by layout
    assert len(decoded) == (6 if room else 3 + 6 + 2)
    batch.zero_()
    assert images.read(np.array([5])).any()  # a batch is a copy


def test_one_pool_of_as_many_threads_as_torch_has(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MOST_IN_MEMORY", 0)
    images = FileImages(checked(*(saved(tmp_path / f"{i}.png", i) for i in range(8))), side=8)
    names = set()
    anew = module._decode_again

    def note(file, **how):
        names.add(threading.current_thread().name)
        return anew(file, **how)

    monkeypatch.setattr(module, "_decode_again", note)
    for _ in range(3):
        images.read(np.arange(8))
    assert len(names) == torch.get_num_threads() == 1
