// SPDX-License-Identifier: Apache-2.0
// What fb.convert is made of.
#include "conversions.h"

#include <string>
#include <vector>

#include <forebay/convert_records.h>
#include <forebay/files.h>
#include <forebay/output_file.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "batches.h"
#include "documents.h"
#include "interpreter.h"
#include "records.h"

namespace forebay::python {
namespace {

ExistingOutput existing_of(const std::string& name) {
  if (name == "resume") return ExistingOutput::resume;
  return name == "replace" ? ExistingOutput::replace : ExistingOutput::refuse;
}

/// A function of Python as the check of a file: what it raises goes on to the caller of `finish`.
OutputFile::Check check_of(const nb::object& function) {
  if (function.is_none()) return {};
  return [&function](const std::string& path) -> Result<void> {
    const nb::gil_scoped_acquire locked;
    try {
      function(to_str(path));
      return {};
    } catch (nb::python_error& failure) {
      failure.restore();
      return Error{Code::cancelled, "the check has failed"};
    }
  };
}

template <class Task>
void finish_unlocked(Task finish) {
  auto done = [&] {
    const Unlocked writing;
    return finish();
  }();
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  value_of(std::move(done));
}

nb::list convert(const nb::list& inputs, const nb::str& out, const nb::dict& asked) {
  const auto number = [&](const char* key) { return nb::cast<std::int64_t>(asked[key]); };
  ConvertRecordsOptions options{.input_compression = compression_of(nb::cast<std::string>(asked["input_compression"])),
                                .compression = compression_of(nb::cast<std::string>(asked["compression"])),
                                .files = number("files"),
                                .file_bytes = number("file_bytes"),
                                .shuffle = nb::cast<bool>(asked["shuffle"]),
                                .seed = number("seed"),
                                .shard = {.index = number("index"), .count = number("count")},
                                .existing = existing_of(nb::cast<std::string>(asked["existing"])),
                                .threads = number("threads"),
                                .index = nb::cast<bool>(asked["store_index"])};
  const nb::object progress = asked["progress"];
  const std::vector<std::string> patterns = from_strs(inputs);
  const std::string path = from_str(out);
  auto done = [&] {
    Unlocked converting;
    options.progress = [&](const ConvertProgress& now) {
      return converting.locked([&] {
        if (PyErr_CheckSignals() != 0) return false;
        if (progress.is_none()) return true;
        PyObject* const answer = PyObject_CallFunction(progress.ptr(), "LL", static_cast<long long>(now.records_done),
                                                       static_cast<long long>(now.records));
        Py_XDECREF(answer);
        return answer != nullptr;
      });
    };
    return convert_records(patterns, path, options);
  }();
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  nb::list files;
  for (const ConvertedFile& file : value_of(std::move(done)))
    files.append(nb::make_tuple(to_str(file.path), file.records, file.made));
  return files;
}

nb::list begin(const nb::str& out, std::int64_t files, std::int64_t index, std::int64_t count,
               const std::string& existing, const nb::list& inputs, const std::string& what) {
  Json note = value_of(parse_json(what));
  auto identity = [names = from_strs(inputs)] {
    const Unlocked asking;
    return identity_of_inputs(names);
  }();
  note.set("inputs", value_of(std::move(identity)));
  nb::list missing;
  for (const std::int64_t number :
       value_of(begin_conversion(from_str(out), files, {.index = index, .count = count}, existing_of(existing), note)))
    missing.append(number);
  return missing;
}

nb::tuple features_of(const nb::list& paths, const std::string& compression, std::int64_t threads) {
  const std::vector<std::string> files = from_strs(paths);
  auto found = [&] {
    Unlocked reading;
    return features_of_examples(files, compression_of(compression), threads, [&] { return reading.no_signal(); });
  }();
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  const StoredFeatures all = value_of(std::move(found));
  nb::list out;
  for (const StoredFeature& each : all.features)
    out.append(nb::make_tuple(to_str(each.name), each.kind, each.records, each.min, each.max, each.text));
  nb::list lists;
  for (const StoredList& each : all.lists)
    lists.append(nb::make_tuple(to_str(each.name), each.kind, each.frames, each.min, each.max, each.text));
  return nb::make_tuple(all.records, out, lists);
}

std::string_view view_of(nb::handle bytes) {
  char* text = nullptr;
  Py_ssize_t size = 0;
  if (PyBytes_AsStringAndSize(bytes.ptr(), &text, &size) != 0) throw nb::python_error();
  return {text, static_cast<std::size_t>(size)};
}

}  // namespace

void bind_conversions(nb::module_& module) {
  nb::class_<OutputFile>(module, "OutputFile", "A file that is there only when it is complete.")
      .def(
          "__init__",
          [](OutputFile* self, const nb::str& path, const std::string& compression) {
            new (self) OutputFile{value_of(OutputFile::create(from_str(path), compression_of(compression)))};
          },
          nb::arg("path"), nb::arg("compression"))
      .def(
          "write",
          [](OutputFile& self, const nb::bytes& bytes) {
            const std::string_view text = view_of(bytes);
            finish_unlocked([&] { return self.write(std::as_bytes(std::span{text})); });
            return text.size();
          },
          nb::arg("data"), nb::sig("def write(self, data: bytes) -> int"))
      .def(
          "finish",
          [](OutputFile& self, const nb::object& check) {
            finish_unlocked([&, checks = check_of(check)] { return self.finish(checks); });
          },
          nb::arg("check").none(), nb::sig("def finish(self, check: typing.Any) -> None"),
          "Gives the file its path, unless check(path of the complete file) raises.");
  nb::class_<RecordWriter>(module, "ExampleFile", "A TFRecord file of Examples, or of records as they are.")
      .def(
          "__init__",
          [](RecordWriter* self, const nb::str& path, const std::string& compression,
             std::optional<std::int64_t> level) {
            new (self) RecordWriter{value_of(RecordWriter::create(from_str(path), compression_of(compression), level))};
          },
          nb::arg("path"), nb::arg("compression"), nb::arg("level") = nb::none(),
          nb::sig("def __init__(self, path: str, compression: str, level: int | None = None) -> None"))
      .def("flush", [](RecordWriter& self) { finish_unlocked([&] { return self.flush(); }); })
      .def(
          "write",
          [](RecordWriter& self, const PyBatch& batch) {
            const Batch& made = batch.made_by_run("rows");
            finish_unlocked([&] { return write_examples(made, self); });
          },
          nb::arg("batch"), "Writes the rows of a batch as Examples.")
      .def(
          "write_record",
          [](RecordWriter& self, const nb::bytes& bytes) {
            const std::string_view record = view_of(bytes);
            finish_unlocked([&] { return self.write(std::as_bytes(std::span{record})); });
          },
          nb::arg("record"))
      .def(
          "write_sequences",
          [](RecordWriter& self, const PyBatch& batch, const nb::list& lists) {
            const Batch& made = batch.made_by_run("rows");
            const std::vector<std::string> names = from_strs(lists);
            finish_unlocked([&] { return write_sequence_examples(made, names, self); });
          },
          nb::arg("batch"), nb::arg("lists"),
          nb::sig("def write_sequences(self, batch: Batch, lists: list[str]) -> None"),
          "Writes the rows of a batch as SequenceExamples.")
      .def(
          "finish",
          [](RecordWriter& self, const nb::object& check) {
            finish_unlocked([&, checks = check_of(check)] { return self.finish(checks); });
          },
          nb::arg("check").none(), nb::sig("def finish(self, check: typing.Any) -> None"));
  nb::class_<RowDigest>(module, "RowDigest", "A digest of rows, however they are cut into batches.")
      .def(nb::init<>())
      .def(
          "add",
          [](RowDigest& self, const PyBatch& batch) {
            const Batch& made = batch.made_by_run("rows");
            finish_unlocked([&] { return self.add(made); });
          },
          nb::arg("batch"))
      .def_prop_ro("rows", &RowDigest::rows)
      .def_prop_ro(
          "text", [](const RowDigest& self) { return to_str(self.text()); }, nb::sig("def text(self) -> str"));
  module.def("convert_records", &convert, nb::arg("inputs"), nb::arg("out"), nb::arg("options"),
             nb::sig("def convert_records(inputs: list[str], out: str, options: dict[str, typing.Any]) -> "
                     "list[tuple[str, int, bool]]"),
             "Files as (path, records, made now).");
  module.def("begin_conversion", &begin, nb::arg("out"), nb::arg("files"), nb::arg("index"), nb::arg("count"),
             nb::arg("existing"), nb::arg("inputs"), nb::arg("what"),
             nb::sig("def begin_conversion(out: str, files: int, index: int, count: int, existing: str, inputs: "
                     "list[str], what: str) -> list[int]"),
             "The numbers of the files that are to be made.");
  module.def("features_of_examples", &features_of, nb::arg("paths"), nb::arg("compression"), nb::arg("threads"),
             nb::sig("def features_of_examples(paths: list[str], compression: str, threads: int) -> tuple[int, "
                     "list[tuple[str, str, int, int, int, bool]], list[tuple[str, str, int, int, int, bool]]]"),
             "Records, features as (name, kind, records, min, max, text), and lists as (name, kind, frames, min, max, "
             "text).");
  module.def(
      "output_file",
      [](const nb::str& out, std::int64_t number, std::int64_t files) {
        return to_str(output_file(from_str(out), number, files));
      },
      nb::arg("out"), nb::arg("number"), nb::arg("files"),
      nb::sig("def output_file(out: str, number: int, files: int) -> str"));
  module.def(
      "file_format", [](const nb::str& path) { return file_format(from_str(path)); }, nb::arg("path"),
      nb::sig("def file_format(path: str) -> str"));
  module.def(
      "compression_by_name",
      [](const nb::str& path) {
        return std::string{
            EnumNames<Compression>::names[static_cast<std::size_t>(compression_by_name(from_str(path)))]};
      },
      nb::arg("path"), nb::sig("def compression_by_name(path: str) -> str"));
  module.def("bytes_of_size", &memory_of, nb::arg("size"), nb::sig("def bytes_of_size(size: int | str) -> int"));
  module.def(
      "expand_files",
      [](const nb::list& patterns) {
        nb::list out;
        auto found = [names = from_strs(patterns)] {
          const Unlocked looking;
          return expand_files(names, "");
        }();
        for (const std::string& path : value_of(std::move(found))) out.append(to_str(path));
        return out;
      },
      nb::arg("patterns"), nb::sig("def expand_files(patterns: list[str]) -> list[str]"));
}

}  // namespace forebay::python
