# SPDX-License-Identifier: Apache-2.0
"""Files of other machines: the readers of their schemes, and the threads that call these."""
from __future__ import annotations

import hashlib
import os
import random
import re
import threading
import time
from typing import Any, Callable, Dict, List, Mapping, Optional, Protocol, Sequence, Union

from forebay import _at_exit, _core
from forebay._web_files import GsFiles, HttpFiles, S3Files, curl_of_pycurl, usual_files
from forebay.errors import ConfigError

MAX_THREADS = 32      # of one file system; the engine has as many requests in flight
TRIES = 5             # of one request; the waits between them grow from 0.1 s to 1.6 s
# Members of the `info` of fsspec's file systems that differ between two versions of a file: hashes and numbers of versions first.
STRONG = ("ETag", "etag", "e_tag", "VersionId", "version_id", "generation", "md5Hash", "content_md5", "Content-MD5", "Digest",
          "crc32c", "checksum", "blob_id", "sha256")
WEAK = ("mtime", "ino", "LastModified", "last_modified", "Last-Modified", "updated", "modified", "modificationTime", "created")
_jitter = random.Random()     # not the generator that the program draws from
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")


class FileSystem(Protocol):
    """What reads the files of a scheme: an fsspec file system, or an object with these functions. Many threads call it."""

    def info(self, path: str) -> Mapping[str, Any]:
        """At least `size` in bytes, and what changes when the file is replaced: `ETag`, `generation`, `mtime` or another of
        `STRONG` and `WEAK`. Raises FileNotFoundError."""

    def cat_file(self, path: str, start: int, end: int) -> Union[bytes, bytearray, memoryview]:
        """The bytes from `start` to before `end`; fewer, but one at least, are well."""


class Changed(OSError):
    """The file is not the version any more whose bytes were asked for."""


def version_of(info: Mapping[str, Any]) -> int:
    for names in (STRONG, WEAK):
        told = [(name, info[name]) for name in names if info.get(name) is not None]
        if told:
            return int.from_bytes(hashlib.blake2b(repr(told).encode(), digest_size=8).digest(), "little") or 1
    return 0    # the size alone tells versions apart


def told_in(found: "Union[Sequence[str], Mapping[str, Mapping[str, Any]]]", name: str) -> "tuple[Optional[int], int]":
    """Size and version of a file in what `find` gave; without a size, nothing is told."""
    info = found[name] if isinstance(found, Mapping) else {}
    size = info.get("size")
    return (None, 0) if size is None else (int(size), version_of(info))


class Reader(Protocol):
    """What reads a file at once, for libraries of Python."""

    def info(self, path: str) -> "tuple[int, int]":
        """Size and version at this moment."""

    def bytes_of(self, path: str, size: int, version: int, begin: int, end: int) -> Any:
        """The bytes of a range of that version."""


class Compiled:
    """A Reader of what the compiled part reads by itself."""

    def info(self, path: str) -> "tuple[int, int]":
        return _core.find_version(path)

    def bytes_of(self, path: str, size: int, version: int, begin: int, end: int) -> bytes:
        return _core.read_range(path, size, version, begin, end)


class Served:
    """An object of the program that reads files, and the threads that call it: as many as there is work for, and one that waits for more."""

    def __init__(self, scheme: str, system: Any, lists: bool) -> None:
        self.scheme, self.system, self._lists = scheme, system, lists
        self.queue = _core.QueuedFiles(lists)
        self._threads: "List[threading.Thread]" = []
        self._lock = threading.Lock()
        self._add_thread()

    def _add_thread(self) -> None:
        with self._lock:
            if len(self._threads) == MAX_THREADS:
                return
            thread = threading.Thread(target=self._serve, name=f"forebay-{self.scheme}-{len(self._threads)}", daemon=True)
            self._threads.append(thread)
        thread.start()

    def _serve(self) -> None:
        while (job := self.queue.take()) is not None:
            if self.queue.needs_thread:
                self._add_thread()
            self._answer(job)

    def _answer(self, job: "_core.FileJob") -> None:
        work: "Callable[[Any], None]" = {"find": self._find, "read": self._read, "list": self._list}[job.kind]
        for tried in range(1, TRIES + 1):
            try:
                return work(job)
            except FileNotFoundError as problem:
                return job.fail("not_found", f"cannot open '{job.path}': there is no such file{_in_brackets(problem, job.path)}")
            except PermissionError as problem:
                return job.fail("denied", f"cannot open '{job.path}': it may not be read{_in_brackets(problem, job.path)}")
            except Changed as problem:
                return job.fail("changed", str(problem))
            except (IsADirectoryError, NotImplementedError, TypeError, ValueError, LookupError, AttributeError) as problem:
                return job.fail("io", f"cannot read '{job.path}': {_said(problem, job.path)}")
            except BaseException as problem:
                if tried == TRIES or not job.wanted:
                    return job.fail("io", f"cannot read '{job.path}': {_said(problem, job.path)} (tried {tried} times)")
                time.sleep(.1 * 2 ** (tried - 1) * _jitter.uniform(.5, 1))

    def info(self, path: str) -> "tuple[int, int]":
        """Size and version at this moment."""
        info = self.system.info(self._own_anew(path))
        if info.get("type") == "directory":
            raise IsADirectoryError(f"it is a folder; '{path.rstrip('/')}/*' names the files in it")
        if info.get("size") is None:
            raise ValueError("the size of the file is not known, and its bytes cannot be asked for in ranges")
        return int(info["size"]), version_of(info)

    def _find(self, job: "_core.FileJob") -> None:
        job.found(*self.info(job.path))

    def _read(self, job: "_core.FileJob") -> None:
        job.bytes(self.bytes_of(job.path, job.size, job.version, job.begin, job.end))

    def bytes_of(self, path: str, size: int, version: int, begin: int, end: int) -> Any:
        """The bytes of a range of that version. A range says nothing of its version, which is asked for after it came."""
        data = self.system.cat_file(self._own(path), start=begin, end=end)
        if self.info(path) != (size, version):
            raise Changed("the file changed while it was read: its version is another")
        return data

    def _list(self, job: "_core.FileJob") -> None:
        folder = self._own_anew(job.path)
        options: "Dict[str, Any]" = {}
        if hasattr(self.system, "_strip_protocol"):
            options = {"detail": True} if job.deep else {"maxdepth": 1, "detail": True}
        try:
            found: "Union[Sequence[str], Mapping[str, Mapping[str, Any]]]" = self.system.find(folder, **options)
        except FileNotFoundError:
            found = []
        files: "List[tuple[str, Optional[int], int]]" = []
        for name in found:
            if not name.startswith((job.path, folder)):
                raise ValueError(f"`find` gave {name!r} for the folder {folder!r}")
            rest = name[len(job.path if name.startswith(job.path) else folder):].lstrip("/")
            if rest and (job.deep or "/" not in rest):
                files.append((job.path + rest, *told_in(found, name)))
        job.listed(files)

    def _own(self, path: str) -> str:
        """The path as the file system knows it: without the scheme in fsspec."""
        address = _core.address_of(path)
        strip = getattr(self.system, "_strip_protocol", None)
        return address if strip is None else strip(address)

    def _own_anew(self, path: str) -> str:
        """The same, after fsspec has forgotten its lists of folders, which may be old."""
        own = self._own(path)
        forget = getattr(self.system, "invalidate_cache", None)
        if forget is not None:
            forget(own)
        return own

    def close(self) -> None:
        self.queue.close()

    def after_fork(self) -> None:
        """The child has the queue of its parent, which may be locked for ever, and none of the threads that serve it. It gets
        others, and connections of its own."""
        self._lock, self._threads = threading.Lock(), []
        self.system = _anew(self.system)
        self.queue = _core.QueuedFiles(self._lists)
        self._add_thread()


def _said(problem: BaseException, path: str) -> str:
    """The error of a store, without the signature of an address."""
    address = _core.address_of(path)
    text = str(problem).replace(address, path)
    query = address.partition("?")[2]
    return f"{type(problem).__name__}: {text.replace(query, '…') if query else text}"


def _in_brackets(problem: OSError, path: str) -> str:
    """The same, unless it is the path alone."""
    text = _said(problem, path)
    return "" if text.partition(": ")[2].strip("'\"") in path else f" ({text})"


def _anew(system: Any) -> Any:
    """A file system of fsspec with connections of its own; any other object as it is."""
    if not hasattr(system, "storage_options"):
        return system
    try:
        return type(system)(*system.storage_args, **{**system.storage_options, "skip_instance_cache": True})
    except Exception:       # a class with other arguments, whose object has to do
        return system


_by_scheme: "Dict[str, Served]" = {}


def _serve(scheme: str, system: Any, lists: bool) -> Served:
    if not _by_scheme:
        os.register_at_fork(after_in_child=_begin_anew)
    served = Served(scheme, system, lists)
    _by_scheme[scheme] = served
    _at_exit.close_after_loaders(served)
    return served


def _begin_anew() -> None:
    """In a child after a fork."""
    for scheme, served in _by_scheme.items():
        served.after_fork()
        _core.add_file_system(scheme, served.queue)


def served_of(path: str) -> "Optional[Reader]":
    """What reads a file; None for a path without a scheme. Raises ConfigError for a scheme that nothing reads."""
    scheme = path.split("://", 1)[0]
    if not SCHEME.fullmatch(scheme):
        return None
    if scheme not in _by_scheme:
        _core.find_file_system(path)    # asks `find_scheme`, and keeps what it gives
    return _by_scheme.get(scheme, Compiled())


def add_file_system(scheme: str, system: Any) -> None:
    """Reads all paths that begin with `scheme` and "://" through `system`: an fsspec file system, any object with
    `info(path)`, `cat_file(path, start, end)` and, for patterns, `find(folder)`, or an HttpFiles, S3Files or GsFiles.

        fb.add_file_system("s3", s3fs.S3FileSystem(anon=True))
        fb.tfrecord("s3://bucket/train-*").example({...}).batch(32)

    Plans that are made later use it, also in place of the one that the scheme had before. Schemes that nobody has named are
    read by fsspec, where that is installed. An object without `_strip_protocol` gets the paths as they are in the document.

    `info` gives a mapping with `size` in bytes and something that changes when the file is replaced, such as `ETag`,
    `generation` or `mtime`; it is asked before the first byte and after each range, so that no batch has rows of two versions.
    `find` gives the names of all files below a folder, or a mapping from them to what `info` gives, which is then not asked before
    the first byte. Up to 32 threads call the object. FileNotFoundError and PermissionError are errors of the run at once, and so
    are errors of types, values and names; after any other one the request is tried again, five times in all.

    Raises ConfigError for a text that is no scheme, and for an object that lacks one of the functions.
    """
    if isinstance(system, (HttpFiles, S3Files, GsFiles)):
        if scheme not in system.schemes:
            raise ConfigError(f"scheme: {type(system).__name__} reads {' and '.join(system.schemes)}, found {scheme!r}")
        _core.add_file_system(scheme, system.files)
        _by_scheme.pop(scheme, None)
        return
    missing = [name for name in ("info", "cat_file") if not callable(getattr(system, name, None))]
    if missing:
        raise ConfigError(f"system: {type(system).__name__} has no {' and no '.join(f'`{name}`' for name in missing)}; an fsspec file "
                          "system has both, and so may an object of your own")
    if not isinstance(scheme, str):
        raise ConfigError(f"scheme: expected the text before \"://\", such as \"s3\", found {scheme!r}")
    lists = callable(getattr(system, "find", None)) and scheme not in ("http", "https")
    if not SCHEME.fullmatch(scheme):
        raise ConfigError(f"scheme: {scheme!r} is none: a letter, then letters, digits, `+`, `.` or `-`, such as \"s3\" of \"s3://\"")
    _core.add_file_system(scheme, _serve(scheme, system, lists).queue)


def find_scheme(scheme: str) -> "Union[_core.QueuedFiles, _core.WebFiles, str]":
    """The compiled part asks for the reader of a scheme that nobody has named, and that it cannot read by itself. A text says
    why there is none."""
    if scheme in ("s3", "gs") or (scheme in ("http", "https") and curl_of_pycurl() is not None):
        try:
            return usual_files(scheme).files
        except ConfigError as problem:
            return str(problem)
    advice = f"or name a reader of your own with forebay.add_file_system({scheme!r}, …)"
    try:
        import fsspec
    except ImportError:
        return f"only local files can be read without the package fsspec; `pip install fsspec{_package(scheme)}`, {advice}"
    try:
        system = fsspec.filesystem(scheme, use_listings_cache=False, skip_instance_cache=True)
    except ValueError:
        return f"fsspec knows no scheme {scheme!r}; check the spelling, {advice}"
    except ImportError as problem:
        return f"fsspec has no reader of {scheme!r} yet: {problem}; {advice}"
    except Exception as problem:
        return f"fsspec cannot open {scheme!r}: {type(problem).__name__}: {problem}; {advice}"
    return _serve(scheme, system, scheme not in ("http", "https")).queue


def main(arguments: "List[str]") -> int:
    """The command `forebay` with the schemes of this package: it begins anew here when it meets one (cli/main.cc)."""
    from forebay_command import main as command
    return command(arguments)


def _package(scheme: str) -> str:
    known = {"s3": "pycurl", "s3a": "s3fs", "gs": "pycurl", "gcs": "gcsfs", "az": "adlfs", "abfs": "adlfs", "abfss": "adlfs",
             "hf": "huggingface_hub", "http": "pycurl", "https": "pycurl", "sftp": "paramiko", "ssh": "paramiko"}
    found: "Optional[str]" = known.get(scheme)
    return f" {found}" if found else ""
