"use strict";

// How pixels of 0 to 255 become what a model takes.
const SCALES = {
  "0 to 1": (value) => value / 255,
  "-1 to 1": (value) => value / 127.5 - 1,
  "0 to 255": (value) => value,
};

function tell(form, text, isWrong = false) {
  const status = form.querySelector("[role=status]");
  status.textContent = text;
  status.className = isWrong ? "wrong" : "";
}

async function predict(form) {
  const shown = form.querySelector("pre");
  shown.textContent = "";
  tell(form, "The server computes.");
  const began = performance.now();
  try {
    const answer = await fetch(form.action, { method: "POST", body: form.elements.body.value });
    const text = await answer.text();
    tell(form, `${answer.status}, in ${Math.round(performance.now() - began)} ms`, !answer.ok);
    shown.textContent = text;
  } catch (error) {
    tell(form, `The server can't be reached. (${error.message})`, true);
  }
}

function asBase64(bytes) {
  let text = "";
  // As many at a time as a function takes arguments.
  for (let start = 0; start < bytes.length; start += 8192) {
    text += String.fromCharCode(...bytes.subarray(start, start + 8192));
  }
  return btoa(text);
}

// The pixels of an image in a canvas that shows them, as lists: rows of columns, of channels if there are any.
async function pixelsOf(file, taken, scale, canvas) {
  const bitmap = await createImageBitmap(file);
  const [height, width, channels] = taken.sizes;
  canvas.height = height ?? bitmap.height;
  canvas.width = width ?? bitmap.width;
  const context = canvas.getContext("2d");
  context.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  const found = context.getImageData(0, 0, canvas.width, canvas.height).data;
  const pixel = (at) => {
    const [red, green, blue, alpha] = found.subarray(at, at + 4);
    const grey = Math.round(0.2989 * red + 0.587 * green + 0.114 * blue);
    if (channels === undefined) return scale(grey);
    return (channels === 1 ? [grey] : [red, green, blue, alpha].slice(0, channels ?? 3)).map(scale);
  };
  const row = (y) => Array.from({ length: canvas.width }, (_, x) => pixel(4 * (y * canvas.width + x)));
  return Array.from({ length: canvas.height }, (_, y) => row(y));
}

// Puts an image into the request, and sends it.
async function use(form, file) {
  const taken = JSON.parse(form.dataset.image);
  form.querySelector("pre").textContent = "";
  tell(form, "The image is read.");
  try {
    let value;
    if (taken.dtype === "string") {
      value = { b64: asBase64(new Uint8Array(await file.arrayBuffer())) };
      form.querySelector(".used").textContent = `${file.name}: ${file.size} bytes in ${taken.name}, as base64.`;
    } else {
      const name = form.elements.scale?.value ?? "0 to 255";
      const canvas = form.querySelector("canvas");
      value = await pixelsOf(file, taken, SCALES[name], canvas);
      form.querySelector(".used").textContent =
        `${file.name}: ${canvas.width} x ${canvas.height} pixels of ${name} in ${taken.name}.`;
    }
    const body = JSON.parse(form.elements.body.value);
    body.inputs[taken.name] = taken.isBatch ? [value] : value;
    form.elements.body.value = JSON.stringify(body);
  } catch (error) {
    tell(form, `${file.name} can't be used. (${error.message})`, true);
    return;
  }
  await predict(form);
}

function takeImages(form) {
  let last;
  const take = (file) => {
    last = file;
    if (file) use(form, file);
  };
  form.elements.image.addEventListener("change", (event) => take(event.target.files[0]));
  form.elements.scale?.addEventListener("change", () => take(last));
  form.addEventListener("dragover", () => form.classList.add("over"));
  form.addEventListener("dragleave", () => form.classList.remove("over"));
  form.addEventListener("drop", (event) => {
    form.classList.remove("over");
    take(event.dataTransfer.files[0]);
  });
}

for (const form of document.forms) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    predict(form);
  });
  if (form.dataset.image) takeImages(form);
}
// A file that falls beside a form is not opened in place of the page.
for (const name of ["dragover", "drop"]) {
  document.addEventListener(name, (event) => event.preventDefault());
}
