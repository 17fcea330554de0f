"""What `tools.programs` does with one program: its row, the surroundings that it gets, how it ended."""

import contextlib
import dataclasses
import importlib.util
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tools import program_data

ROOT = Path(__file__).resolve().parent.parent
KINDS = ("TPUEstimator", "Estimator", "tf.distribute", "Keras", "loop", "Session")
# How a program ended; of its own fault are those that can't run anywhere as they are.
WELL, STOPPED, LATE, OWN, SKIPPED = "ends well", "stops", "time is up", "of its own fault", "skipped"
COUNTED = (WELL, STOPPED, LATE)
_LONGEST_REASON = 160
_LARGE = 1 << 20
_FOLDERS = re.compile(r"(?<![\w/:.])/(?:[\w.+~-]+/)+")
_ERROR = re.compile(r"^([A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Exit|Failure|Stop|Warning)\w*)\b(:.*)?$")
# Has a program end with the process that started it.
_WRAPPER = ROOT / "stratax" / "cluster" / "_end_with_parent.py"
_NOT_COPIED = shutil.ignore_patterns(".git", "__pycache__")


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Program:
    """A row of the list: a program of somebody's repository, and what it wants.

    Attributes:
        repository: Its owner and name.
        tree: The repository's folder below TREES.
        file: The program or notebook, from the tree's root.
        kind: What of TensorFlow it is written with, one of `KINDS`.
        name: What tells it from another row of the same file.
        cwd: Where it runs, from the tree's root; else the folder of the file.
        module: What is run with `-m` in the file's place.
        arguments: Its arguments, as a shell has them; {data}, {out}, {home}, {tree} and {trees} are folders.
        data: Which data it reads, by the names in `program_data.MAKERS`.
        files: Paths in the tree, and the files or folders that lie there while it runs.
        environment: Variables of its environment.
        stdin: What it reads from its standard input.
        simulate: Which devices are simulated, such as "tpu:2".
        path: Folders of the tree that Python finds modules in.
        needs: Modules that have to be installed besides.
        before: Command lines of programs that have to run in front of it.
        until: A pattern; a program whose output has it is ended there, and that is well.
        own: Why it can't run as it is, anywhere; such a program isn't run.
    """

    repository: str
    tree: str
    file: str
    kind: str
    name: str = ""
    cwd: str | None = None
    module: str = ""
    arguments: str = ""
    data: tuple[str, ...] = ()
    files: Mapping[str, str] = dataclasses.field(default_factory=dict)
    environment: Mapping[str, str] = dataclasses.field(default_factory=dict)
    stdin: str = ""
    simulate: str = ""
    path: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    until: str = ""
    own: str = ""

    def __post_init__(self) -> None:
        """Raise ValueError if a field has no meaning."""
        if self.kind not in KINDS:
            raise ValueError(
                f"{self.key}: kind has to be one of {', '.join(KINDS)}. Received: {self.kind!r}."
            )
        unknown = sorted(set(self.data) - set(program_data.MAKERS))
        if unknown:
            raise ValueError(
                f"{self.key}: data has to be of {', '.join(sorted(program_data.MAKERS))}. Received: {unknown}."
            )

    @property
    def key(self) -> str:
        """What the program is called: its tree, file and name."""
        return f"{self.tree}/{self.file}" + (f" ({self.name})" if self.name else "")


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """How a program ended, and what was said of it beforehand.

    Attributes:
        ended: One of `WELL`, `STOPPED`, `LATE`, `OWN`, `SKIPPED`.
        why: The last line of its error, or why it wasn't run.
        seconds: How long it ran.
        is_there: Whether `stratax check` finds all that it uses; None if it wasn't asked.
        missing: The names that `stratax check` doesn't find.
    """

    key: str
    repository: str
    kind: str
    ended: str
    why: str = ""
    seconds: float = 0.0
    is_there: bool | None = None
    missing: tuple[str, ...] = ()

    @property
    def agrees(self) -> bool | None:
        """Whether it ends as `stratax check` says; None where one of both isn't known."""
        if self.is_there is None or self.ended not in (WELL, STOPPED):
            return None
        return self.is_there == (self.ended == WELL)


def read_programs(file: Path) -> list[Program]:
    """Return the rows of a list; a repository's fields are those of its programs that have none of their own."""
    programs = []
    for repository in tomllib.loads(file.read_text("utf-8")).get("repository", []):
        common = {name: value for name, value in repository.items() if name not in ("name", "program")}
        for row in repository.get("program", []):
            fields = {**common, **row}
            lists = {name: tuple(value) for name, value in fields.items() if isinstance(value, list)}
            try:
                programs.append(Program(repository=repository["name"], **{**fields, **lists}))
            except TypeError as error:
                raise ValueError(f"{file}: {row.get('file')} of {repository['name']}: {error}") from error
    return programs


def write_outcomes(file: Path, outcomes: Mapping[str, Outcome]) -> None:
    """Write what is known of programs as JSON."""
    rows = [dataclasses.asdict(outcome) for outcome in outcomes.values()]
    whole = file.with_name(f"{file.name}.new")
    whole.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")
    whole.replace(file)


def read_outcomes(file: Path) -> dict[str, Outcome]:
    """Return what `write_outcomes` wrote, nothing if there is no such file."""
    if not file.exists():
        return {}
    rows = [
        Outcome(**{**row, "missing": tuple(row["missing"])}) for row in json.loads(file.read_text("utf-8"))
    ]
    return {row.key: row for row in rows}


class Runs:
    """Runs programs, each in a copy of its tree, with data that is made once.

    Args:
        trees: The folder that the repositories' trees lie in.
        scratch: A folder for data, copies and outputs.
        timeout: After how many seconds a program is ended.
        logs: A folder for what each of them prints; None keeps nothing.
    """

    def __init__(self, trees: Path, scratch: Path, timeout: float, logs: Path | None = None) -> None:
        self._trees = trees
        self._scratch = scratch
        self._timeout = timeout
        self._logs = logs
        self._data = program_data.Data(scratch / "data", scratch / "home")

    def run(self, program: Program) -> Outcome:
        """Run a program and ask `stratax check` about it."""
        common: dict[str, Any] = {
            "key": program.key,
            "repository": program.repository,
            "kind": program.kind,
        }
        if program.own:
            return Outcome(**common, ended=OWN, why=program.own)
        tree = self._trees / program.tree
        if not (tree / program.file).is_file():
            return Outcome(**common, ended=SKIPPED, why=f"there is no {program.tree}/{program.file} in TREES")
        lacking = [name for name in program.needs if importlib.util.find_spec(name) is None]
        if lacking:
            return Outcome(**common, ended=SKIPPED, why=f"needs {', '.join(lacking)}, not installed")
        with self.prepared(program) as run:
            said = _ask_check(program, run)
            ended = run.run_in_front(program, timeout=self._timeout)
            if ended.ended == WELL:
                ended = run.run(program, timeout=self._timeout)
            return Outcome(**common, **said, ended=ended.ended, why=ended.why, seconds=ended.seconds)

    @contextlib.contextmanager
    def prepared(self, program: Program) -> Iterator["Surroundings"]:
        """Lay a copy of a program's tree, with its data, for one run."""
        copy, out = self._scratch / "tree", self._scratch / "out"
        try:
            _copy_tree(self._trees / program.tree, copy)
            out.mkdir()
            for name in program.data:
                self._data.make(name)
            yield self._surround(program, copy, out)
        finally:
            self._keep_log(program, out / "log")
            shutil.rmtree(copy, ignore_errors=True)
            shutil.rmtree(out, ignore_errors=True)

    def _keep_log(self, program: Program, log: Path) -> None:
        if self._logs is not None and log.exists():
            self._logs.mkdir(parents=True, exist_ok=True)
            name = re.sub(r"[^\w.-]+", "_", program.key).strip("_")
            shutil.copyfile(log, self._logs / f"{name}.log")

    def _surround(self, program: Program, copy: Path, out: Path) -> "Surroundings":
        folders = {
            "data": self._data.folder,
            "home": self._data.home,
            "out": out,
            "tree": copy,
            "trees": self._trees,
        }
        for place, source in program.files.items():
            _place(Path(_fill(source, folders)), copy / place)
        cwd = copy / (os.path.dirname(program.file) if program.cwd is None else program.cwd)
        environment = self._environment(program, copy, folders)
        return Surroundings(folders, cwd, environment, out / "log")

    def _environment(self, program: Program, copy: Path, folders: Mapping[str, Path]) -> dict[str, str]:
        environment = {name: value for name, value in os.environ.items() if name != "TF_CONFIG"}
        path = [self._data.site, *(copy / _fill(folder, folders) for folder in program.path), ROOT]
        given = [environment["PYTHONPATH"]] if environment.get("PYTHONPATH") else []
        environment |= {
            "HOME": str(self._data.home),
            "PYTHONPATH": os.pathsep.join([*map(str, path), *given]),
            "PYTHONUNBUFFERED": "1",
            "MPLBACKEND": "Agg",
        }
        if program.simulate:
            environment["STRATAX_SIMULATE"] = program.simulate
        return environment | {name: _fill(value, folders) for name, value in program.environment.items()}


@dataclasses.dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended: one of the ends of `Outcome`, why, and after how many seconds."""

    ended: str
    why: str
    seconds: float


@dataclasses.dataclass(frozen=True, slots=True)
class Surroundings:
    """Where a program runs, by what, and where what it says goes.

    Attributes:
        folders: What {data}, {out}, {home}, {tree} and {trees} are.
        cwd: The folder that it runs in.
        environment: Variables of its environment.
        log: The file of what it prints.
        launcher: The command in front of it.
        is_enough: Whether it may end before it does so by itself; asked now and then.
    """

    folders: Mapping[str, Path]
    cwd: Path
    environment: Mapping[str, str]
    log: Path
    launcher: tuple[str, ...] = (sys.executable, "-m", "stratax", "run")
    is_enough: Callable[[], bool] | None = None

    def run_in_front(self, program: Program, *, timeout: float) -> Ended:
        """Run the programs that have to run in front of one, until one of them does not end well."""
        for line in program.before:
            ended = self._run(shlex.split(_fill(line, self.folders)), timeout)
            if ended.ended != WELL:
                return dataclasses.replace(ended, why=f"in front of it, {line.split()[0]}: {ended.why}")
        return Ended(WELL, "", 0.0)

    def run(self, program: Program, *, timeout: float) -> Ended:
        """Run a program, and say how it ends."""
        file = self.folders["tree"] / program.file
        if file.suffix == ".ipynb":
            file = _write_cells(file)
        what = ["-m", program.module] if program.module else [os.path.relpath(file, self.cwd)]
        command = [*what, *shlex.split(_fill(program.arguments, self.folders))]
        return self._run(command, timeout, program.stdin, program.until or None)

    def _run(self, command: list[str], timeout: float, stdin: str = "", until: str | None = None) -> Ended:
        start = time.monotonic()
        with open(self.log, "wb") as log:
            process = subprocess.Popen(
                # A program without an end would go on when this process is killed.
                [sys.executable, str(_WRAPPER), str(os.getpid()), *self.launcher, *command],
                cwd=self.cwd,
                env=dict(self.environment),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                # A group of its own, so that what it starts ends with it.
                start_new_session=True,
            )
            try:
                _give(process, stdin)
                code = self._wait(process, start + timeout, until)
            finally:
                _end_group(process)
        seconds = round(time.monotonic() - start, 1)
        if code == 0:
            return Ended(WELL, "", seconds)
        if isinstance(code, str):
            said = f"ended behind {code!r}" if code else f"still running after {timeout:.0f} s"
            return Ended(WELL if code else LATE, said, seconds)
        return Ended(STOPPED, reason(self.text(), code), seconds)

    def text(self) -> str:
        """Return what it has printed."""
        return self.log.read_text("utf-8", errors="replace")

    def _wait(self, process: subprocess.Popen, end: float, until: str | None) -> int | str:
        """Return the exit code, what of the output `until` is found in, or "" if the time is up."""
        pattern = re.compile(until) if until else None
        while time.monotonic() < end:
            try:
                return process.wait(timeout=0.5)
            except subprocess.TimeoutExpired:
                found = pattern and pattern.search(self.text())
                if found:
                    return found.group().strip()
                if self.is_enough is not None and self.is_enough():
                    return 0
        return ""


def _give(process: subprocess.Popen, text: str) -> None:
    if process.stdin is None:
        raise ValueError("The process has no standard input.")
    try:
        process.stdin.write(text.encode())
        process.stdin.close()
    except BrokenPipeError:
        # It read none of it; how it ends says the rest.
        pass


def _end_group(process: subprocess.Popen) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _ask_check(program: Program, surroundings: Surroundings) -> dict[str, Any]:
    file = surroundings.folders["tree"] / program.file
    arguments = f"--arguments={_fill(program.arguments, surroundings.folders)}"
    asked = subprocess.run(
        [sys.executable, "-m", "stratax", "check", "--json", arguments, str(file)],
        cwd=surroundings.cwd,
        env=dict(surroundings.environment),
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        said = json.loads(asked.stdout)
    except json.JSONDecodeError:
        return {"is_there": False, "missing": (reason(asked.stderr, asked.returncode),)}
    names = [
        finding["name"] for finding in said["findings"] if finding["kind"] not in ("different", "uncalled")
    ]
    return {"is_there": said["works"], "missing": tuple(dict.fromkeys(names))}


def reason(text: str, code: int) -> str:
    """Return the last line of a program's error, in one line and not too long, with no path of this machine.

    Args:
        text: What the program wrote.
        code: Its exit code.
    """
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    errors = [place for place, line in enumerate(lines) if _ERROR.match(line)]
    if errors:
        found = lines[errors[-1]]
    elif code < 0:
        found = f"ended by {signal.Signals(-code).name}"
    else:
        found = lines[-1] if lines else f"exit code {code}"
    # Of files the name: the folders are this machine's.
    found = _FOLDERS.sub("", " ".join(found.split()))
    return found if len(found) <= _LONGEST_REASON else found[: _LONGEST_REASON - 3] + "..."


def _copy_tree(tree: Path, copy: Path) -> None:
    shutil.copytree(
        tree,
        copy,
        symlinks=True,
        ignore=_NOT_COPIED,
        ignore_dangling_symlinks=True,
        copy_function=_copy_file,
    )


def _copy_file(source: str, target: str) -> None:
    """Copy a file; large ones are data, which a link is enough for."""
    if os.path.getsize(source) > _LARGE:
        os.symlink(os.path.abspath(source), target)
    else:
        shutil.copyfile(source, target)


def _place(source: Path, target: Path) -> None:
    """Copy what is to lie in the tree."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True)
    else:
        shutil.copyfile(source, target)


def _write_cells(notebook: Path) -> Path:
    """Write what a notebook's cells compute as a program beside it; what IPython alone understands is left out."""
    cells = json.loads(notebook.read_text("utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    lines = [
        line for source in sources for line in [*source.splitlines(), ""] if line[:1] not in ("%", "!", "?")
    ]
    program = notebook.with_name(f"{notebook.stem}_cells.py")
    program.write_text("\n".join(lines) + "\n", "utf-8")
    return program


def _fill(text: str, folders: Mapping[str, Path]) -> str:
    for name, folder in folders.items():
        text = text.replace(f"{{{name}}}", str(folder))
    return text
