"""A version stays for as long as it is used, and leaves nothing behind."""

import asyncio
import concurrent.futures
import logging
import shutil
import weakref

import numpy as np
import pytest
from starlette.exceptions import HTTPException

from stratax.command.serving import ServingOptions, _models
from tests.command.serving.serving import write


@pytest.fixture(scope="module")
def exports(tmp_path_factory):
    folder = tmp_path_factory.mktemp("exports")
    for factor in (1, 2):
        write(folder / str(factor), factor)
    return folder


def with_model(base, labels, body):
    async def run(executor):
        options = ServingOptions(models={"m": str(base)}, max_batch=2)
        computing = _models.Computing(options=options, executor=executor, computed=lambda model, rows: None)
        await body(_models.ServedModel("m", str(base), labels, computing))

    with concurrent.futures.ThreadPoolExecutor(1) as executor:
        asyncio.run(run(executor))


def test_a_version_that_is_used_goes_when_it_is_used_no_more(tmp_path, exports):
    async def body(model):
        shutil.copytree(exports / "1", tmp_path / "1")
        await model.refresh()
        old = model.version(None, None)
        gone = weakref.ref(old.export.signatures["scaled"])
        with old.keep():
            shutil.copytree(exports / "2", tmp_path / "2")
            await model.refresh()
            assert model.version(None, None).number == 2
            assert model.statuses[1].state == "UNLOADING"
            found = await old.answer("scaled", {"x": np.ones((1, 2), np.float32)})
            assert found["y"].tolist() == [[1, 1]]
        del old
        await model.wait_until_drained()
        assert model.statuses[1].state == "END"
        assert gone() is None

    with_model(tmp_path, {}, body)


def test_what_is_loaded_goes_on_when_the_folder_is_empty_and_an_older_one_comes_back(tmp_path, exports):
    async def body(model):
        for number in ("1", "2"):
            shutil.copytree(exports / number, tmp_path / number)
        await model.refresh()
        assert list(model.versions) == [2]
        shutil.rmtree(tmp_path / "2")
        await model.refresh()
        assert list(model.versions) == [1]
        shutil.rmtree(tmp_path / "1")
        await model.refresh()
        assert list(model.versions) == [1]

    with_model(tmp_path, {}, body)


def test_folders_that_are_no_versions_are_left_alone(tmp_path, exports):
    async def body(model):
        shutil.copytree(exports / "1", tmp_path / "0007")
        for name in ("latest", "8.tmp", "-1", "٣", "9" * 40):
            shutil.copytree(exports / "1", tmp_path / name)
        (tmp_path / "9").write_text("a file")
        await model.refresh()
        assert list(model.versions) == [7]

    with_model(tmp_path, {}, body)


def test_a_label_of_a_version_that_is_not_there_is_not_found(tmp_path, exports):
    async def body(model):
        shutil.copytree(exports / "1", tmp_path / "1")
        await model.refresh()
        with pytest.raises(HTTPException, match="Specific"):
            model.version(None, "next")
        with pytest.raises(HTTPException, match="Unrecognized servable version label"):
            model.version(None, "other")

    with_model(tmp_path, {"next": 5}, body)


def test_of_versions_that_can_not_be_read_the_last_ones_are_told(tmp_path, exports):
    async def body(model):
        for number in range(1, 31):
            (tmp_path / str(number)).mkdir()
        shutil.copytree(exports / "1", tmp_path / "0", dirs_exist_ok=True)
        await model.refresh()
        assert list(model.versions) == [0]
        ended = [number for number, status in model.statuses.items() if status.state == "END"]
        assert len(ended) == 16
        assert {model.statuses[number].error_code for number in ended} == {"NOT_FOUND"}

    with_model(tmp_path, {}, body)


def loop_of_links(folder):
    folder.mkdir()
    (folder / "export.json").symlink_to(folder / "export.json")


def link_to_itself(folder):
    folder.symlink_to(folder)


def without_permission(folder):
    folder.mkdir()
    (folder / "export.json").write_text("{}")
    folder.chmod(0)


@pytest.mark.parametrize("spoil", [loop_of_links, link_to_itself, without_permission])
def test_a_version_that_can_not_even_be_looked_at_harms_no_other(tmp_path, exports, caplog, spoil):
    async def body(model):
        shutil.copytree(exports / "1", tmp_path / "1")
        spoil(tmp_path / "2")
        models = _models.Models({"m": model}, 1.0)
        with caplog.at_level(logging.INFO, logger="stratax"):
            for _ in range(3):
                await models.refresh()
        assert list(model.versions) == [1]
        told = model.statuses[2].as_json(2)
        assert told["state"] == "END"
        assert told["status"]["error_code"] != "OK"
        assert told["status"]["error_message"]
        assert len([record for record in caplog.records if record.levelno >= logging.WARNING]) == 1
        # Once it is mended it is taken.
        if spoil is without_permission:
            (tmp_path / "2").chmod(0o700)
        if (tmp_path / "2").is_symlink():
            (tmp_path / "2").unlink()
        shutil.rmtree(tmp_path / "2", ignore_errors=True)
        shutil.copytree(exports / "2", tmp_path / "2")
        await model.refresh()
        assert list(model.versions) == [2]

    with_model(tmp_path, {}, body)


def test_a_base_that_can_not_be_read_is_told_once(tmp_path, caplog):
    base = tmp_path / "base"

    async def body(model):
        models = _models.Models({"m": model}, 1.0)
        with caplog.at_level(logging.INFO, logger="stratax"):
            for _ in range(3):
                await models.refresh()
            assert len(caplog.records) == 1
            base.mkdir()
            await models.refresh()
            base.rmdir()
            await models.refresh()
        assert len(caplog.records) == 2

    base.mkdir()
    options = ServingOptions(models={"m": str(base)})
    base.rmdir()
    with concurrent.futures.ThreadPoolExecutor(1) as executor:
        computing = _models.Computing(options=options, executor=executor, computed=lambda model, rows: None)
        asyncio.run(body(_models.ServedModel("m", str(base), {}, computing)))
