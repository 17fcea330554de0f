"""The page in a real browser: what is written there, what a form answers, what becomes of an image."""

import json

import numpy as np
import pytest

import stratax.tf as tf
from stratax.export import ExportedFunction, TensorInfo, save
from tests.command.serving.browser import browsing
from tests.command.serving.serving import serving

# Drops a file on a form, or beside all forms, and waits for what it comes to.
DROP = """
const [signature, bytes, name] = arguments;
const form = [...document.forms].find((each) => each.elements.body.value.includes(`"${signature}"`));
const files = new DataTransfer();
files.items.add(new File([new Uint8Array(bytes)], name));
form.querySelector("[role=status]").textContent = "";
form.dispatchEvent(new DragEvent("drop", {dataTransfer: files, bubbles: true, cancelable: true}));
return (async () => {
  const status = form.querySelector("[role=status]");
  for (let left = 200; left && !/^[0-9]{3},|can't/.test(status.textContent); left--)
    await new Promise((go) => setTimeout(go, 50));
  return [status.textContent, form.querySelector("pre").textContent, form.querySelector(".used").textContent,
          form.elements.body.value];
})();
"""
SEND = """
const [signature, body] = arguments;
const form = [...document.forms].find((each) => each.elements.body.value.includes(`"${signature}"`));
if (body !== null) form.elements.body.value = body;
form.querySelector("[role=status]").textContent = "";
form.querySelector("button").click();
return (async () => {
  const status = form.querySelector("[role=status]");
  for (let left = 200; left && !/^[0-9]{3},|can't/.test(status.textContent); left--)
    await new Promise((go) => setTimeout(go, 50));
  return [status.textContent, form.querySelector("pre").textContent];
})();
"""
NAMELESS = """
return [...document.querySelectorAll("form, textarea, input, select, button, [tabindex]")]
  .filter((each) => !(each.ariaLabel || each.labels?.[0]?.innerText || each.innerText)).map((each) => each.outerHTML);
"""
INJECTED = "<img src=x onerror=document.title='ran'>"


def decoded(inputs):
    image = tf.map_fn(lambda each: tf.io.decode_png(each, channels=3), inputs["image_bytes"], dtype=tf.uint8)
    return {"sum": tf.reduce_sum(tf.cast(image, tf.int32), [1, 2])}


def pixels(inputs):
    return {"means": tf.reduce_mean(inputs["x"], [1, 2])}


def named(inputs):
    return {INJECTED: inputs[INJECTED] + 1.0}


def png():
    """A PNG file of 4 x 2 pixels: 2 x 2 red ones beside 2 x 2 blue ones."""
    image = np.zeros((2, 4, 3), np.uint8)
    image[:, :2, 0], image[:, 2:, 2] = 255, 255
    return list(tf.io.encode_png(image).numpy())


@pytest.mark.processes
def test_the_page_shows_models_and_tries_them(tmp_path):
    signatures = {
        "serving_default": ExportedFunction(pixels, {"x": TensorInfo("float32", (None, 4, 4, 3))}),
        "decoded": ExportedFunction(decoded, {"image_bytes": TensorInfo("string", (None,))}),
        "named": ExportedFunction(named, {INJECTED: TensorInfo("float32", (None,))}),
    }
    save(None, tmp_path / "1", signatures, platforms=["cpu"])
    (tmp_path / "2").mkdir()
    with browsing() as browser, serving(tmp_path) as server:
        browser.open(f"http://127.0.0.1:{server.port}/")
        text = browser.run("return document.body.innerText")
        for shown in ("AVAILABLE", "serving_default", "float32[None, 4, 4, 3]", INJECTED):
            assert shown in text
        # What is written as an example is answered.
        status, answer = browser.run(SEND, "serving_default", None)
        assert status.startswith("200, in ")
        assert json.loads(answer) == {"outputs": [[0, 0, 0]]}
        # Pixels: half of them red, half of them blue, from 0 to 1.
        status, answer, used, body = browser.run(DROP, "serving_default", png(), "half.png")
        assert status.startswith("200, in ")
        np.testing.assert_allclose(json.loads(answer)["outputs"], [[0.5, 0, 0.5]], atol=0.1)
        assert used == "half.png: 4 x 4 pixels of 0 to 1 in x."
        assert np.shape(json.loads(body)["inputs"]["x"]) == (1, 4, 4, 3)
        # The file itself.
        status, answer, used, _ = browser.run(DROP, "decoded", png(), "half.png")
        assert status.startswith("200, in ")
        assert json.loads(answer) == {"outputs": [[1020, 0, 1020]]}
        assert used == f"half.png: {len(png())} bytes in image_bytes, as base64."
        # What is no image is told by the page, or by the server.
        assert "none.txt can't be used" in browser.run(DROP, "serving_default", [1, 2], "none.txt")[0]
        assert browser.run(DROP, "decoded", [1, 2], "none.txt")[0].startswith("400, in ")
        # Errors are shown as text.
        status, answer = browser.run(SEND, "named", json.dumps({"signature_name": INJECTED, "inputs": 1}))
        assert status.startswith("400, in ")
        assert INJECTED in json.loads(answer)["error"]
        # Where there is little room, nothing is beside the window, long words of errors neither.
        browser.resize(400, 900)
        assert browser.run("return document.documentElement.scrollWidth <= innerWidth")
        # What the keyboard comes to has a name.
        assert browser.run(NAMELESS) == []
        # Nothing has run, and nothing was refused that the page itself needs.
        assert browser.run("return document.title") == "Models"
        assert browser.run("return document.querySelectorAll('img').length") == 0
        told = [each for each in browser.messages() if "400 (Bad Request)" not in each]
        assert told == []
