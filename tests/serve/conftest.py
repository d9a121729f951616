"""A server over a model of two classes, and photos of four."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from photo_toys import make_colours
from servers import empty_model, served, teach


@pytest.fixture(scope="session")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders with twelve photos each of four classes."""
    return make_colours(tmp_path_factory.mktemp("photos"), "elk", "owl", "cat", "dog")


@pytest.fixture(scope="session")
def taught(tmp_path_factory: pytest.TempPathFactory, tiny_backbone: Path, photos: Path) -> bytes:
    """The file of a model that knows elk and owl."""
    path = empty_model(tmp_path_factory.mktemp("taught") / "m.memoryless", tiny_backbone)
    with served(path) as client:
        teach(client, photos, ["elk", "owl"])
        return client.get("/model.memoryless?history=1").content


@pytest.fixture
def model(tmp_path: Path, taught: bytes) -> Path:
    """A copy of that file."""
    path = tmp_path / "zoo.memoryless"
    path.write_bytes(taught)
    return path


@pytest.fixture
def client(model: Path) -> Iterator[httpx.Client]:
    """A client of a server over it."""
    with served(model) as found:
        yield found


@pytest.fixture(scope="session")
def patient(tmp_path_factory: pytest.TempPathFactory, taught: bytes) -> Iterator[httpx.Client]:
    """A client for requests that change nothing."""
    path = tmp_path_factory.mktemp("patient") / "patient.memoryless"
    path.write_bytes(taught)
    with served(path) as found:
        yield found
