"""Workers that do nothing are noticed."""

import pytest

from stratax.command import convert
from stratax.command.convert import _workers
from stratax.errors import WorkerError
from tests.command.convert.pictures import make_endless, write_tree

pytestmark = pytest.mark.processes
SETTINGS = convert.ConversionSettings(shards=3)


@pytest.fixture
def images(tmp_path):
    return write_tree(tmp_path / "images", ("cat", "dog", "fox"), 4)


@pytest.fixture
def out(tmp_path):
    return tmp_path / "deep" / "out"


def run(images, out, settings=SETTINGS, **options):
    return convert.convert_images(images, out, settings, workers=options.pop("workers", 1), **options)


def test_workers_that_do_nothing_are_noticed(monkeypatch, images, out):
    make_endless(images / "dog/002.jpg")
    monkeypatch.setattr(_workers, "_STALL_SECONDS", 0.0)
    with pytest.raises(WorkerError, match="No image was converted for"):
        run(images, out)
