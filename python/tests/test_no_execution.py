# SPDX-License-Identifier: Apache-2.0
"""Nothing that comes from data, documents or states is ever run."""
from __future__ import annotations

import collections
import json
import pathlib
import pickle
import re
import subprocess

import pytest
from conftest import ROOT, run_python
from command import COMMAND

import forebay as fb

# nanobind compiles a few constants of its own, so Py_CompileStringExFlags is there anyhow; see the test of the sources.
STARTERS = ("system", "popen", "execl", "execle", "execlp", "execv", "execve", "execvp", "execvpe", "posix_spawn", "posix_spawnp",
            "fork", "vfork", "wordexp", "dlopen", "PyRun_String", "PyRun_SimpleString", "PyRun_StringFlags", "Py_CompileString",
            "Py_CompileStringFlags", "PyMarshal_ReadObjectFromString")


# The module loads the CUDA runtime when the program asks for a GPU (fb.torch.prefetch, load(pin_memory=True)), and both load libcurl when an address is
# read; the next test shows that nothing else loads a library, and that no document names one. The command, which the module has in it for its console script, starts Python for
# `view`, `convert` and tables, by a list of arguments of its own; another test shows that nothing else starts a program.
@pytest.mark.parametrize("program, needed", [(COMMAND, {"dlopen", "posix_spawnp", "execvp"}), (fb._core.__file__, {"dlopen", "posix_spawnp", "execvp"})],
                         ids=["command", "module"])
def test_nothing_compiled_can_start_a_program_or_evaluate_text(program: str, needed: set[str]) -> None:
    listed = subprocess.run(["nm", "-D", "--undefined-only", program], capture_output=True, text=True, check=True).stdout
    wanted = {line.split()[-1].partition("@")[0] for line in listed.splitlines()}
    assert "memcpy" in wanted
    assert wanted & set(STARTERS) == needed


def having(pattern: str) -> set[str]:
    places = [path for folder in ("src", "cli", "python/src") for path in (ROOT / folder).rglob("*.*")]
    return {path.relative_to(ROOT).as_posix() for path in places if re.search(pattern, path.read_text(errors="replace"))}


def test_only_the_command_starts_python() -> None:
    """Some verbs, and `main` where a path has a scheme, which the package reads."""
    assert having(r"\bposix_spawnp?\b|\bexecv\w*\b|spawn\.h") == {"cli/python_package.cc"}
    assert having(r"\brun_python\b") == {f"cli/{name}" for name in ("convert.cc", "head.cc", "main.cc", "python_package.cc", "python_package.h", "schema.cc",
                                                                    "view.cc")}


def test_only_staging_and_http_load_a_library_and_no_document_names_one() -> None:
    assert having(r"\bdlopen\b|dlfcn\.h") == {"src/engine/run/staging/cuda_runtime.cc", "src/stores/http/library.cc"}
    assert having(r"\blibrary\(options") == {f"src/stores/services/{name}.cc" for name in ("http_files", "s3_service", "gs_service")}
    assert having(r"\bhttp_files\(|\bs3_files\(") == {"src/stores/services/http_files.cc", "src/stores/services/s3_service.cc", "src/stores/registry.cc",
                                                       "python/src/file_systems.cc"}
    assert having(r"\bCudaRuntime::load\b") == {"src/engine/run/staging/cuda_runtime.cc", "src/engine/run/staging/staging_cuda.cc",
                                                 "src/engine/run/staging/pinned_cuda.cc"}
    assert having(r"\bcuda_staging\b") == {"src/engine/run/staging/staging_cuda.cc", "python/src/staging.cc"}
    assert having(r"\bcuda_pinned_memory\b") == {"src/engine/run/staging/pinned_cuda.cc", "python/src/staging.cc"}


# `map` with processes, and fleets. `map` starts processes, sends them the program's own function, and takes what that returns. Every
# place that loads a pickle: the function in the process; what a process tries before it sends an exception (twice); values that a
# function returned and the types of its named tuples, in the program or in the process of a later `map`; and blocks of a fleet, which come
# from its own workers (docs/clusters.md, Security).
PICKLES = {"_worker.py": {"pickle.loads": 1}, "_map/faults.py": {"pickle.loads": 2, "pickle.dumps": 2},
           "_map/wire.py": {"pickle.loads": 2, "pickle.dumps": 1},
           "_map/processes.py": {"pickle.Pickler": 1, "pickle.PicklingError": 1, "subprocess": 4},
           "ray/_wire.py": {"pickle.loads": 1, "pickle.dumps": 1, "pickle.PickleBuffer": 1}}


def test_no_source_evaluates_or_unpickles() -> None:
    package = ROOT / "python/forebay"
    sources = [*package.rglob("*.py"), *(ROOT / "python/src").iterdir()]
    assert len(sources) > 28
    found = re.compile(r"nanobind/eval\.h|\b(?:pickle|marshal|shelve)\.\w+|(?<!re\.)\b(?:eval|exec|compile)\(|subprocess|os\.system")
    every = {path: collections.Counter(found.findall(path.read_text())) for path in sources}
    assert {path.relative_to(package).as_posix(): dict(count) for path, count in every.items() if count} == PICKLES


# Every event by which Python code runs what was text or bytes before; see the table of audit events in Python's manual.
WATCHED = """
import json, sys
import numpy
import forebay as fb
def refuse(event, arguments):
    if event in ("exec", "compile", "pickle.find_class", "marshal.loads") or event.startswith(("os.system", "os.exec", "os.posix_spawn",
                                                                                               "os.fork", "subprocess.", "import")):
        raise SystemExit(f"{event} {arguments}")
document, state = json.loads(sys.argv[1]), sys.argv[2]
sys.addaudithook(refuse)
with fb.load(document) as loader:
    names = [bytes(name) for batch in loader for name in batch["s"]]
    kept = loader.state_dict()
for hostile in (state, {"version": state}, dict(kept, plan=state)):
    with fb.load(document) as loader:
        try:
            loader.load_state_dict(hostile)
            print("taken")
        except (fb.Error, TypeError, ValueError):
            pass
print(len(names), str(loader.plan).count("touch"))
"""


def test_documents_records_and_states_are_only_data(tmp_path: pathlib.Path) -> None:
    trap = tmp_path / "trap"

    class Trap:
        def __reduce__(self) -> tuple[object, ...]:
            return (pathlib.Path.touch, (trap,))

    hostile = f"__import__('os').system('touch {trap}')"
    folder = tmp_path / "$(touch trap)`touch trap`;touch trap"
    folder.mkdir()
    path = folder / "a.tfrecord"
    fb.write_records(path, [fb.encode_example({"s": text, hostile: 1}) for text in (hostile.encode(), pickle.dumps(Trap()))])
    document = {"source": {"tfrecord": {"files": [str(path)]}},
                "decode": {"example": {"features": {"s": {"dtype": "string", "shape": []}, hostile: {"dtype": "int64", "shape": []}}}},
                "steps": [{"batch": {"size": 1}}]}
    done = run_python(WATCHED, json.dumps(document), pickle.dumps(Trap(), 0).decode())
    assert (done.returncode, done.stderr) == (0, "")
    count, named = done.stdout.split()
    assert (count, int(named) > 0) == ("2", True)
    (tmp_path / "document.json").write_text(json.dumps(document))
    shown = subprocess.run([COMMAND, "head", tmp_path / "document.json"], capture_output=True, text=True, cwd=tmp_path)
    assert shown.returncode == 0
    assert not trap.exists()
