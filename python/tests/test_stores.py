# SPDX-License-Identifier: Apache-2.0
"""What reads files of other machines: objects of the program that are slow, wrong, replaced, forked, and gone."""
from __future__ import annotations

import datetime
import subprocess
import sys
import threading
import time
from typing import Any, Optional

import pytest
from stores import Store, new_store, values

import forebay as fb


@pytest.fixture
def store() -> "tuple[str, Store]":
    return new_store()


def test_an_object_that_is_replaced_at_any_request_gives_rows_of_one_version_or_an_error(store: "tuple[str, Store]") -> None:
    root, files = store
    versions = [b"".join(f"{letter * length}\n".encode() for _ in range(2_000_000 // (length + 1)))
                for letter, length in (("o", 99), ("n", 49))]
    assert len(versions[0]) == len(versions[1])
    errors = 0
    for shuffled in (False, True):
        for at in range(12):
            path = f"{root}/{shuffled}-{at}.txt"
            files.put(path, versions[0])
            requests = iter(range(10**6))

            def replace(name: str, start: int, wanted: int = at) -> None:
                if next(requests) == wanted:
                    files.put(name, versions[1])
            files.before_read = replace
            pipe = fb.lines(path).record("line")
            seen: "set[bytes]" = set()
            try:
                for batch in (pipe.shuffle("global") if shuffled else pipe).batch(100).load(threads=2, memory="8MB"):
                    seen |= {bytes(line) for line in batch["line"]}
            except fb.DataError as error:
                assert "changed" in str(error) and path in str(error)
                errors += 1
            assert len(seen) <= 1 and seen <= {b"o" * 99, b"n" * 49}
    assert errors > 3


def test_a_store_that_lists_nothing_has_names_with_wildcards() -> None:
    class Plain:
        def info(self, path: str) -> "dict[str, Any]":
            return {"size": 4, "mtime": datetime.datetime(2026, 1, 1)}

        def cat_file(self, path: str, start: int, end: int) -> bytes:
            return path.rsplit("/", 1)[1].encode()[:4][start:end]
    fb.add_file_system("plain", Plain())
    assert values(fb.lines("plain://host/a?b*").record("line").batch(1).load()) == [{"line": [b"a?b*"]}]


def test_faults_name_the_file_and_come_in_their_order(store: "tuple[str, Store]") -> None:
    root, files = store
    for number in range(3):
        files.put(f"{root}/{number}.txt", b"".join(b"%d %05d\n" % (number, i) for i in range(100)))
    with pytest.raises(fb.IoError, match=r"cannot open 't.*/3.txt': there is no such file") as missing:
        fb.lines([f"{root}/0.txt", f"{root}/3.txt"]).record("line").batch(1).plan()
    assert isinstance(missing.value, FileNotFoundError)

    def broken(path: str, start: int) -> None:
        if path.endswith("1.txt"):
            raise KeyError("credentials")
    files.before_read = broken
    got = []
    with pytest.raises(fb.IoError, match=r"cannot read 't.*/1.txt': KeyError: 'credentials'"):
        for batch in fb.lines(f"{root}/*.txt").record("line").batch(10).load(threads=2):
            got += [bytes(line) for line in batch["line"]]
    assert got == [b"0 %05d" % i for i in range(100)]

    failures = iter([TimeoutError("slow"), ConnectionResetError("cut"), OSError("503")])

    def shaky(path: str, start: int) -> None:
        problem: Optional[Exception] = next(failures, None)
        if problem is not None:
            raise problem
    files.before_read = shaky
    assert len(list(fb.lines(f"{root}/0.txt").record("line").batch(10).load())) == 10

    files.before_read = lambda path, start: None
    files.cat_file = lambda path, start, end: b"x" * (end - start + 1)  # type: ignore[method-assign]
    with pytest.raises(fb.IoError, match="the file system gave 801 bytes where 800 were asked for"):
        list(fb.lines(f"{root}/0.txt").record("line").batch(10).load())
    files.cat_file = lambda path, start, end: b""  # type: ignore[method-assign]
    with pytest.raises(fb.DataError, match="ends before the size that it had"):
        list(fb.lines(f"{root}/0.txt").record("line").batch(10).load())


def test_fewer_bytes_than_were_asked_for_are_well(store: "tuple[str, Store]") -> None:
    root, files = store
    text = b"".join(b"line %d\n" % i for i in range(1000))
    files.put(f"{root}/a", text)
    whole = files.cat_file
    files.cat_file = lambda path, start, end: memoryview(whole(path, start, min(end, start + 333)))  # type: ignore
    lines = [bytes(line) for batch in fb.lines(f"{root}/a").record("line").batch(50).load() for line in batch["line"]]
    assert lines == text.splitlines()


def test_an_object_without_the_functions_is_refused() -> None:
    with pytest.raises(fb.ConfigError, match="object has no `info` and no `cat_file`; an fsspec file system has both"):
        fb.add_file_system("x", object())
    for scheme in ("", "a b", "s3://", "3s"):
        with pytest.raises(fb.ConfigError, match="a letter, then letters, digits"):
            fb.add_file_system(scheme, Store())


def test_a_scheme_that_nothing_reads_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def refusal(path: str) -> str:
        with pytest.raises(fb.ConfigError) as caught:
            fb.lines(path).record("line").batch(1).plan()
        return str(caught.value)
    assert "'nonsense://a': fsspec knows no scheme 'nonsense'; check the spelling, or name a reader of your own with " \
        "forebay.add_file_system('nonsense', …)" in refusal("nonsense://a")
    monkeypatch.setitem(sys.modules, "fsspec", None)
    assert "'az://a/b': only local files can be read without the package fsspec; `pip install fsspec adlfs`, or name" in refusal("az://a/b")


def test_a_later_file_system_serves_later_plans(store: "tuple[str, Store]") -> None:
    root, files = store
    files.put(f"{root}/a", b"old\n" * 100)
    newer = Store()
    newer.put(f"{root}/a", b"new\n")
    with fb.lines(f"{root}/a").record("line").batch(10).load() as loader:
        next(loader)
        fb.add_file_system(root.split("://")[0], newer)
        assert len(list(loader)) == 9
    assert values(fb.lines(f"{root}/a").record("line").batch(10).load()) == [{"line": [b"new"]}]


def test_a_closed_loader_leaves_nothing_to_do(store: "tuple[str, Store]") -> None:
    root, files = store
    files.put(f"{root}/a", b"line\n" * 2_000_000)
    go_on = threading.Event()
    files.before_read = lambda path, start: None if start == 0 else go_on.wait(60)
    loader = fb.lines(f"{root}/a").record("line").batch(10).load()
    next(loader)
    since = time.monotonic()
    loader.close()
    assert time.monotonic() - since < 2
    asked = len(files.calls)
    go_on.set()
    time.sleep(.3)
    assert len(files.calls) - asked <= 64      # those that were in a thread's hands, and their versions


FORKED = """
import os, sys
import fsspec, forebay as fb
fsspec.filesystem("memory").pipe_file("/a.txt", b"".join(b"%d\\n" % i for i in range(1000)))
def total():
    return sum(int(line) for batch in fb.lines("memory://a.txt").record("line").batch(7).load(threads=2) for line in batch["line"])
assert total() == 499500
with fb.lines("memory://a.txt").record("line").batch(7).load(threads=2) as loader:
    next(loader)
    for _ in range(4):
        child = os.fork()
        if child == 0:
            os._exit(0 if total() == 499500 else 1)
        assert os.waitpid(child, 0)[1] == 0
    assert len(list(loader)) == 142
"""


def test_a_forked_child_reads_with_threads_of_its_own() -> None:
    done = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")


ENDS = """
import sys, threading, time
import forebay as fb
class Slow:
    def info(self, path): return {"size": 10**9, "ETag": "1"}
    def cat_file(self, path, start, end):
        if start > 0: time.sleep(1000)
        return (b"line\\n" * (end // 5 + 1))[start:end]
fb.add_file_system("slow", Slow())
loader = fb.lines("slow://a").record("line").batch(7).load()
next(loader)
threading.Thread(target=lambda: list(loader), daemon=True).start()
time.sleep(.2)
"""


def test_a_program_ends_while_its_store_does_not_answer() -> None:
    done = subprocess.run([sys.executable, "-c", ENDS], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_importing_forebay_imports_no_fsspec() -> None:
    code = "import sys, forebay; forebay.tfrecord; sys.exit('fsspec' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


SIGNED = "https://host/a.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Expires=60&part=1&X-Amz-Signature=5ec12e7%2B{}"


def test_the_signature_of_an_address_is_shown_to_nobody(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    class Signed(Store):
        def cat_file(self, path: str, start: int, end: int) -> bytes:
            if "denied" in path:
                raise PermissionError(f"403 for {path}")
            return super().cat_file(path, start, end)
    files = Signed()
    fb.add_file_system("https", files)
    for signature in ("first", "second", "denied"):
        files.put(SIGNED.format(signature), b"".join(b"line %d\n" % i for i in range(100)))

    def pipe(signature: str) -> Any:
        return fb.lines([SIGNED.format(signature)], record_key="key").record("line").batch(10)
    assert len(values(pipe("first").load())) == 10
    assert all(path == SIGNED.format("first") for _, path in files.calls)
    with pipe("first").load() as loader:
        batch = next(loader)
        state = loader.state_dict()
        shown = [repr(state), str(batch.record_keys), repr(batch["key"].tolist()), repr(pipe("first")), str(loader.stats()), str(loader.plan),
                 repr(loader)]
        assert batch.record_keys[0] == "https://host/a.txt?part=1:1"
    with pipe("second").load() as loader:
        loader.load_state_dict(state)
        assert len(list(loader)) == 9
    assert files.calls[-1][1] == SIGNED.format("second")
    with pytest.raises(fb.IoError, match=r"cannot open 'https://host/a.txt\?part=1': it may not be read \(PermissionError: 403 for https") as denied:
        list(pipe("denied").load())
    shown += [str(denied.value), repr(denied.value.filename)]
    with pytest.raises(fb.IoError, match="there is no such file") as missing:
        pipe("missing").plan()
    captured = capfd.readouterr()
    for text in [*shown, str(missing.value), captured.out, captured.err]:
        assert "Signature=5" not in text and "5ec12e7" not in text
    fb.add_file_system("https", fb.HttpFiles())     # as before, for the tests that follow
