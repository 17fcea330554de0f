"""Build the package as it is published, and try it: `python -m tools.package dist`.

The source distribution and the wheel are built of the files that git knows, in a folder of their own: what lies in the
checkout besides would get into them. The wheel is installed into a fresh environment, which borrows what it needs from
the one that runs this.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SECONDS = 300
# What a reader finds in the source distribution, and what not.
WANTED = ("CHANGELOG.md", "LICENSE", "README.md", "constraints.txt", "docs/index.md", "stratax/py.typed")
UNWANTED = ("tests/", "docs/_build/", ".ci/")
PROGRAM = """
import pathlib, sys
import stratax as sx, stratax.tf as tf
assert pathlib.Path(sx.__file__).is_relative_to(sys.prefix), sx.__file__
sx.simulate_devices(2, kind="TPU")
strategy = sx.distribute.MirroredStrategy()
found = strategy.reduce("SUM", strategy.run(lambda: tf.constant(2.0)), axis=None)
assert float(found) == 4.0, found
"""


def main(target: pathlib.Path) -> None:
    """Leave the source distribution and the wheel in a folder, checked and tried."""
    with tempfile.TemporaryDirectory(prefix="package-") as folder:
        work = pathlib.Path(folder)
        copy_sources(work / "clone")
        source = build("sdist", work / "clone", work / "sdist")
        with tarfile.open(source) as archive:
            archive.extractall(work / "unpacked", filter="data")
        (unpacked,) = (work / "unpacked").iterdir()
        wheel = build("wheel", unpacked, work / "wheel")
        check_contents(unpacked, wheel, build("wheel", work / "clone", work / "direct"))
        run(sys.executable, "-m", "twine", "check", "--strict", str(source), str(wheel))
        try_wheel(wheel, work)
        target.mkdir(parents=True, exist_ok=True)
        for built in (source, wheel):
            shutil.copy(built, target)
            print(f"package: {target / built.name}")


def copy_sources(target: pathlib.Path) -> None:
    """Copy what git knows of the checkout."""
    listed = run("git", "ls-files", "--cached", "--others", "--exclude-standard", folder=ROOT)
    for name in listed.splitlines():
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)


def build(kind: str, folder: pathlib.Path, target: pathlib.Path) -> pathlib.Path:
    """Build a distribution of a folder; return the file."""
    # Without isolation: with the tools that the lock names.
    run(sys.executable, "-m", "build", "--no-isolation", f"--{kind}", "--outdir", str(target), folder=folder)
    (built,) = target.iterdir()
    return built


def check_contents(unpacked: pathlib.Path, wheel: pathlib.Path, direct: pathlib.Path) -> None:
    """Check that the source distribution is whole, and builds what the clone builds."""
    names = [path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*") if path.is_file()]
    missing = sorted(set(WANTED) - set(names))
    stray = [name for name in names if name.startswith(UNWANTED)]
    if missing or stray:
        sys.exit(f"The source distribution lacks {missing} and has {stray}. See MANIFEST.in.")
    one, other = contents(wheel), contents(direct)
    if different := sorted(name for name in {*one, *other} if one.get(name) != other.get(name)):
        sys.exit(
            f"The wheels of the source distribution and of the clone differ in {different}. See MANIFEST.in."
        )


def contents(wheel: pathlib.Path) -> dict[str, int]:
    """Return the checksums of a wheel's files."""
    with zipfile.ZipFile(wheel) as archive:
        return {each.filename: each.CRC for each in archive.infolist()}


def try_wheel(wheel: pathlib.Path, work: pathlib.Path) -> None:
    """Install the wheel into a fresh environment, and use it outside of the checkout."""
    environment = work / "environment"
    venv.create(environment, symlinks=True)
    python = environment / "bin" / "python"
    run(
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(python),
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        str(wheel),
    )
    # Such paths are searched last, and their own `.pth` files, of which one leads to the checkout, are not read.
    own = run(str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    borrowed = [path for path in sys.path if path.endswith("site-packages")]
    pathlib.Path(own, "borrowed.pth").write_text("\n".join(borrowed) + "\n", encoding="utf-8")
    run(str(python), "-c", PROGRAM, folder=work)
    run(str(environment / "bin" / "stratax"), "devices", "--simulate", "tpu:2", folder=work)


def run(*command: str, folder: pathlib.Path | None = None) -> str:
    """Run a command, and end with what it wrote if it fails."""
    # Without the checkout in the path.
    kept = {
        name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "STRATAX_SIMULATE")
    }
    done = subprocess.run(
        command, cwd=folder, env=kept, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "dist"))
