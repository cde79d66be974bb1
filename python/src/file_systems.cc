// SPDX-License-Identifier: Apache-2.0
#include "file_systems.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <forebay/file_system.h>
#include <forebay/gs_files.h>
#include <forebay/http_files.h>
#include <forebay/queued_files.h>
#include <forebay/s3_files.h>
#include <nanobind/stl/string.h>

#include "interpreter.h"

namespace forebay::python {
namespace {

/// A request in the hands of a Python thread. All answers are given without the interpreter's lock: the engine goes on
/// with its own work inside them.
class PyJob {
 public:
  explicit PyJob(FileJob job) : job_{std::move(job)} {}
  PyJob(PyJob&&) = default;
  PyJob& operator=(PyJob&&) = default;
  PyJob(const PyJob&) = delete;
  PyJob& operator=(const PyJob&) = delete;
  ~PyJob() {
    if (job_.answered()) return;
    const Unlocked dropping;
    const FileJob dropped{std::move(job_)};  // which tells that it was
  }

  [[nodiscard]] const FileJob& job() const {
    if (job_.answered()) throw nb::value_error("the request was answered before");
    return job_;
  }
  [[nodiscard]] const ReadRequest& read() const {
    if (job().read() == nullptr) throw nb::type_error("the request does not ask for bytes");
    return *job_.read();
  }
  void found(std::int64_t size, std::uint64_t version) {
    if (!job().is_find()) throw nb::type_error("the request does not ask for a version");
    if (size < 0) throw nb::value_error("a size must not be negative");
    const Unlocked answering;
    job_.found({.size = size, .version = version});
  }
  /// Fewer bytes than were asked for are well; the engine asks for the others.
  void bytes(nb::handle buffer) {
    const std::span<std::byte> out = read().out;
    Py_buffer view{};
    if (PyObject_GetBuffer(buffer.ptr(), &view, PyBUF_SIMPLE) != 0) throw nb::python_error();
    const auto size = static_cast<std::size_t>(view.len);
    const bool fits = size > 0 && size <= out.size();
    if (fits) {
      const Unlocked copying;
      std::memcpy(out.data(), view.buf, size);
    }
    PyBuffer_Release(&view);
    if (size == 0) return fail("changed", "the file changed while it was read: it ends before the size that it had");
    if (!fits)
      return fail("io", "the file system gave " + std::to_string(size) + " bytes where " + std::to_string(out.size()) +
                            " were asked for");
    const Unlocked answering;
    job_.read_bytes(size);
  }
  void listed(const nb::list& files) {
    if (job().list() == nullptr) throw nb::type_error("the request does not ask for a list");
    std::vector<ListedFile> out;
    for (const nb::handle file : files) {
      out.push_back({.path = from_str(file[0]), .version = {}});
      if (!nb::object{file[1]}.is_none())
        out.back().version = {.size = nb::cast<std::int64_t>(file[1]), .version = nb::cast<std::uint64_t>(file[2])};
    }
    const Unlocked answering;
    job_.listed(std::move(out));
  }
  void fail(const std::string& kind, const std::string& what) {
    static_cast<void>(job());
    const Error error{kind == "changed" ? Code::data : Code::io,
                      kind == "changed"     ? Detail::failed_precondition
                      : kind == "not_found" ? Detail::not_found
                      : kind == "denied"    ? Detail::permission_denied
                                            : Detail::none,
                      what};
    const Unlocked answering;
    job_.fail(error);
  }

 private:
  FileJob job_;
};

nb::object take(const QueuedFiles& files) {
  auto job = [&] {
    const Unlocked waiting;
    return files.take();
  }();
  return job ? nb::cast(PyJob{*std::move(job)}) : nb::none();
}

const char* kind_of(const PyJob& job) {
  if (job.job().is_find()) return "find";
  return job.job().list() == nullptr ? "read" : "list";
}

/// The reader of http and https, of s3, or of gs.
struct WebFiles {
  std::shared_ptr<FileSystem> system;
};

/// Calls a function of the program for credentials or a token, which `read` takes out of what it returns.
template <class T, class Read>
std::function<Result<T>()> given_by(const nb::object& function, Read read) {
  if (function.is_none()) return {};
  // A file system is never destroyed, so the function stays.
  return [function = function.inc_ref().ptr(), read]() -> Result<T> {
    if (Py_IsInitialized() == 0) return Error{Code::cancelled, "the program ends"};
    const nb::gil_scoped_acquire locked;
    try {
      return read(nb::object{nb::handle{function}()});
    } catch (const nb::python_error& problem) {
      return Error{Code::config, Detail::permission_denied, from_str(nb::str(problem.value()))};
    } catch (const std::exception& problem) {
      return Error{Code::config, Detail::permission_denied, problem.what()};
    }
  };
}

/// Seconds since 1970, or None.
std::optional<std::chrono::sys_seconds> time_of(const nb::object& given) {
  if (given.is_none()) return std::nullopt;
  return std::chrono::sys_seconds{std::chrono::seconds{nb::cast<std::int64_t>(given)}};
}

/// A key, its secret, the token of a session or None, where they are from, and the time at which they end or None.
S3CredentialsSource credentials_of(const nb::object& function) {
  return given_by<S3Credentials>(function, [](const nb::object& given) {
    S3Credentials out{.key = from_str(given[0]), .secret = from_str(given[1]), .source = from_str(given[3])};
    if (!nb::object{given[2]}.is_none()) out.token = from_str(given[2]);
    out.expires = time_of(given[4]);
    return out;
  });
}

/// A token, where it is from, and the time at which it ends or None.
GsTokenSource token_of(const nb::object& function) {
  return given_by<GsToken>(function, [](const nb::object& given) {
    return GsToken{.token = from_str(given[0]), .source = from_str(given[1]), .expires = time_of(given[2])};
  });
}

/// The options that http, s3 and gs have in common, from the keyword arguments of their classes.
HttpOptions http_options(bool allow_http, std::int64_t connections, std::int64_t deadline, const nb::list& headers,
                         const nb::str& ca_file, const nb::str& library) {
  return {.allow_http = allow_http,
          .connections = connections,
          .deadline = std::chrono::seconds{deadline},
          .headers = from_strs(headers),
          .ca_file = from_str(ca_file),
          .library = from_str(library)};
}

/// Whether a thread that waits for files goes on: signals are handled by the main thread alone.
bool no_signal_came(unsigned long main_thread) {
  if (PyThread_get_thread_ident() != main_thread || Py_IsInitialized() == 0) return true;
  const nb::gil_scoped_acquire locked;
  return PyErr_CheckSignals() == 0;
}

/// A scheme that nobody has named: the package decides.
Result<std::shared_ptr<FileSystem>> find_scheme(const std::string& scheme) {
  if (Py_IsInitialized() == 0) return Error{Code::cancelled, "the program ends"};
  const nb::gil_scoped_acquire locked;
  try {
    const nb::object found = nb::module_::import_("forebay._file_systems").attr("find_scheme")(to_str(scheme));
    if (found.is_none()) return std::shared_ptr<FileSystem>{};
    if (nb::isinstance<nb::str>(found)) return Error{Code::config, Detail::invalid_argument, from_str(found)};
    if (nb::isinstance<WebFiles>(found)) return nb::cast<const WebFiles&>(found).system;
    return nb::cast<const QueuedFiles&>(found).system();
  } catch (const nb::python_error& problem) {
    return Error{Code::config, Detail::invalid_argument, problem.what()};
  }
}

}  // namespace

void bind_file_systems(nb::module_& module) {
  nb::class_<PyJob>(module, "FileJob", "A request to a file system of the program. It is answered once.")
      .def_prop_ro("kind", &kind_of, nb::sig("def kind(self) -> str"), "find, read or list")
      .def_prop_ro(
          "path", [](const PyJob& job) { return to_str(job.job().path()); }, nb::sig("def path(self) -> str"))
      .def_prop_ro(
          "wanted", [](const PyJob& job) { return job.job().wanted(); }, nb::sig("def wanted(self) -> bool"))
      .def_prop_ro(
          "size", [](const PyJob& job) { return job.read().version.size; }, nb::sig("def size(self) -> int"))
      .def_prop_ro(
          "version", [](const PyJob& job) { return job.read().version.version; }, nb::sig("def version(self) -> int"))
      .def_prop_ro(
          "begin", [](const PyJob& job) { return job.read().offset; }, nb::sig("def begin(self) -> int"))
      .def_prop_ro(
          "end",
          [](const PyJob& job) {
            const ReadRequest& request = job.read();
            return std::min(request.version.size, request.offset + std::ssize(request.out));
          },
          nb::sig("def end(self) -> int"))
      .def_prop_ro(
          "deep", [](const PyJob& job) { return job.job().list() != nullptr && job.job().list()->deep; },
          nb::sig("def deep(self) -> bool"))
      .def("found", &PyJob::found, nb::arg("size"), nb::arg("version"))
      .def("bytes", &PyJob::bytes, nb::arg("buffer"),
           nb::sig("def bytes(self, buffer: bytes | bytearray | memoryview) -> None"))
      .def("listed", &PyJob::listed, nb::arg("files"),
           nb::sig("def listed(self, files: list[tuple[str, int | None, int]]) -> None"),
           "Path, size in bytes and version; without a size, the list does not tell the version.")
      .def("fail", &PyJob::fail, nb::arg("kind"), nb::arg("what"),
           "kind: not_found, denied, changed, or io for anything else.");
  nb::class_<QueuedFiles>(module, "QueuedFiles", "The queue of the requests to one file system of the program.")
      .def(nb::init<bool>(), nb::arg("lists"))
      .def("take", &take, nb::sig("def take(self) -> FileJob | None"), "Waits. None: no more come.")
      .def_prop_ro("needs_thread", &QueuedFiles::needs_thread)
      .def("close", [](const QueuedFiles& files) {
        const Unlocked closing;
        files.close();
      });
  module.def(
      "gs_files",
      [](bool allow_http, std::int64_t connections, std::int64_t deadline, const nb::list& headers,
         const nb::str& ca_file, const nb::str& library, const nb::str& endpoint, const nb::str& project,
         bool anonymous, const nb::object& token, const nb::object& other_token) {
        const GsOptions options{.http = http_options(allow_http, connections, deadline, headers, ca_file, library),
                                .endpoint = from_str(endpoint),
                                .project = from_str(project),
                                .anonymous = anonymous,
                                .token = token_of(token),
                                .other_token = token_of(other_token)};
        return WebFiles{value_of(gs_files(options))};
      },
      nb::kw_only(), nb::arg("allow_http"), nb::arg("connections"), nb::arg("deadline"), nb::arg("headers"),
      nb::arg("ca_file"), nb::arg("library"), nb::arg("endpoint"), nb::arg("project"), nb::arg("anonymous"),
      nb::arg("token").none(), nb::arg("other_token").none(),
      nb::sig("def gs_files(*, allow_http: bool, connections: int, deadline: int, headers: list[str], ca_file: str, "
              "library: str, endpoint: str, project: str, anonymous: bool, token: object, other_token: object) -> "
              "WebFiles"));
  module.def(
      "add_file_system",
      [](const std::string& scheme, const QueuedFiles& files) { value_of(add_file_system(scheme, files.system())); },
      nb::arg("scheme"), nb::arg("files"));
  nb::class_<WebFiles>(module, "WebFiles", "Files that the compiled part reads by itself.");
  module.def(
      "http_files",
      [](bool allow_http, std::int64_t connections, std::int64_t deadline, const nb::list& headers,
         const nb::str& ca_file, const nb::str& library) {
        return WebFiles{
            value_of(http_files(http_options(allow_http, connections, deadline, headers, ca_file, library)))};
      },
      nb::kw_only(), nb::arg("allow_http"), nb::arg("connections"), nb::arg("deadline"), nb::arg("headers"),
      nb::arg("ca_file"), nb::arg("library"),
      nb::sig("def http_files(*, allow_http: bool, connections: int, deadline: int, headers: list[str], ca_file: str, "
              "library: str) -> WebFiles"));
  module.def(
      "s3_files",
      [](bool allow_http, std::int64_t connections, std::int64_t deadline, const nb::list& headers,
         const nb::str& ca_file, const nb::str& library, const nb::str& endpoint, const nb::str& region,
         const nb::str& profile, bool anonymous, bool requester_pays, const nb::object& credentials,
         const nb::object& other_credentials) {
        const S3Options options{.http = http_options(allow_http, connections, deadline, headers, ca_file, library),
                                .endpoint = from_str(endpoint),
                                .region = from_str(region),
                                .profile = from_str(profile),
                                .anonymous = anonymous,
                                .requester_pays = requester_pays,
                                .credentials = credentials_of(credentials),
                                .other_credentials = credentials_of(other_credentials)};
        return WebFiles{value_of(s3_files(options))};
      },
      nb::kw_only(), nb::arg("allow_http"), nb::arg("connections"), nb::arg("deadline"), nb::arg("headers"),
      nb::arg("ca_file"), nb::arg("library"), nb::arg("endpoint"), nb::arg("region"), nb::arg("profile"),
      nb::arg("anonymous"), nb::arg("requester_pays"), nb::arg("credentials").none(),
      nb::arg("other_credentials").none(),
      nb::sig("def s3_files(*, allow_http: bool, connections: int, deadline: int, headers: list[str], ca_file: str, "
              "library: str, endpoint: str, region: str, profile: str, anonymous: bool, requester_pays: bool, "
              "credentials: object, other_credentials: object) -> WebFiles"));
  module.def(
      "add_file_system",
      [](const std::string& scheme, const WebFiles& files) { value_of(add_file_system(scheme, files.system)); },
      nb::arg("scheme"), nb::arg("files"));
  module.def(
      "stop_http",
      [] {
        const Unlocked waiting;
        stop_http();
      },
      "Ends the threads that read http, https, s3 and gs. Functions that find credentials are left before.");
  module.def(
      "find_version",
      [](const nb::str& path) {
        auto found = [path = from_str(path)] {
          const Unlocked waiting;
          return find_version(path);
        }();
        const FileVersion version = value_of(std::move(found));
        return nb::make_tuple(version.size, version.version);
      },
      nb::arg("path"), nb::sig("def find_version(path: str) -> tuple[int, int]"),
      "Size in bytes and version of a file of another machine.");
  module.def(
      "read_range",
      [](const nb::str& path, std::int64_t size, std::uint64_t version, std::int64_t begin, std::int64_t end) {
        auto bytes = [&, path = from_str(path)] {
          const Unlocked waiting;
          return read_range(path, {.size = size, .version = version}, begin, end);
        }();
        const std::string out = value_of(std::move(bytes));
        return nb::bytes(out.data(), out.size());
      },
      nb::arg("path"), nb::arg("size"), nb::arg("version"), nb::arg("begin"), nb::arg("end"),
      nb::sig("def read_range(path: str, size: int, version: int, begin: int, end: int) -> bytes"),
      "The bytes of that version from `begin` to before `end`.");
  ask_while_waiting([main_thread = PyThread_get_thread_ident()] { return no_signal_came(main_thread); });
  module.def(
      "find_file_system",
      [](const nb::str& path) {
        auto known = [path = from_str(path)] {
          const Unlocked looking;
          return has_file_system(path);
        }();
        return value_of(std::move(known));
      },
      nb::arg("path"), nb::sig("def find_file_system(path: str) -> bool"),
      "False: a local path. Raises ConfigError for a scheme that nothing reads.");
  module.def(
      "address_of", [](const nb::str& path) { return to_str(address_of(from_str(path))); }, nb::arg("path"),
      nb::sig("def address_of(path: str) -> str"));
  find_schemes_with(find_scheme);
}

}  // namespace forebay::python
