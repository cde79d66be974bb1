// SPDX-License-Identifier: Apache-2.0
#include "records.h"

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <forebay/index.h>
#include <forebay/records.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.h"
#include "interpreter.h"

namespace forebay::python {
namespace {

std::string_view text_of(nb::handle bytes) {
  if (!PyBytes_Check(bytes.ptr())) throw nb::type_error("expected bytes");
  return {PyBytes_AsString(bytes.ptr()), static_cast<std::size_t>(PyBytes_Size(bytes.ptr()))};
}

std::vector<std::string> texts_of(const nb::list& list) {
  std::vector<std::string> out;
  out.reserve(list.size());
  for (const nb::handle item : list) out.emplace_back(text_of(item));
  return out;
}

void move_to(nb::list& out, std::vector<std::string>& texts) {
  for (const std::string& text : texts) out.append(nb::bytes(text.data(), text.size()));
  texts.clear();
}

nb::list to_list(std::vector<std::string> texts) {
  nb::list out;
  move_to(out, texts);
  return out;
}

/// Ctrl-C, in the middle of something; the exception is set.
Error interrupted() { return {Code::cancelled, "interrupted"}; }

nb::list read(const nb::str& name, const std::string& compression) {
  const std::string path = from_str(name);
  EachRecordOptions options{.compression = compression_of(compression)};
  nb::list out;
  std::vector<std::string> found;  // not yet in the list
  auto done = [&] {
    Unlocked reading;
    Timeout timeout;
    const auto collect = [&](const RecordView& record) { return found.emplace_back(record.bytes), true; };
    options.go_on = [&] {
      return !timeout.over() || reading.locked([&] {
        move_to(out, found);
        return PyErr_CheckSignals() == 0;
      });
    };
    return each_record(path, collect, options);
  }();
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  value_of(std::move(done));
  move_to(out, found);
  return out;
}

/// Nobody else may have the list: its bytes are read while other threads run.
void write(const nb::str& name, const nb::list& records, const std::string& compression) {
  const std::string path = from_str(name);
  const Compression compressed = compression_of(compression);
  std::vector<std::string_view> texts;
  for (const nb::handle record : records) texts.push_back(text_of(record));
  auto done = [&]() -> Result<void> {
    Unlocked writing;
    Timeout timeout;
    FOREBAY_TRY(RecordWriter writer, RecordWriter::create(path, compressed));
    for (const std::string_view text : texts) {
      FOREBAY_DO(writer.write(std::as_bytes(std::span{text})));
      if (timeout.over() && !writing.no_signal()) return interrupted();
    }
    return writer.finish();
  }();
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  value_of(std::move(done));
}

/// `paths`: a plan, or files and patterns.
nb::list index(const nb::object& paths, const std::string& compression, bool force, const nb::str& index_dir,
               const nb::str& publish) {
  const Plan* const plan = nb::isinstance<Plan>(paths) ? nb::cast<const Plan*>(paths) : nullptr;
  const std::vector<std::string> patterns =
      plan != nullptr ? std::vector<std::string>{} : from_strs(nb::cast<nb::list>(paths));
  IndexOptions options{.compression = compression_of(compression),
                       .existing = force ? IndexOptions::Existing::replace : IndexOptions::Existing::keep,
                       .index_dir = from_str(index_dir),
                       .publish = from_str(publish)};
  auto done = [&] {
    Unlocked indexing;
    options.progress = [&](const IndexProgress&) { return indexing.no_signal(); };
    return plan != nullptr ? index_files(*plan, options) : index_files(patterns, options);
  }();
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  nb::list out;
  for (const IndexReport& report : value_of(std::move(done))) {
    if (report.error) raise(*report.error);
    out.append(nb::make_tuple(to_str(report.file), to_str(report.path), report.built, report.records, report.bytes,
                              report.index_bytes));
  }
  return out;
}

nb::list index_plan(const Plan& plan, std::int64_t part, std::int64_t parts, bool only_check,
                    const std::string& index_dir) {
  const IndexOptions options{.existing = only_check ? IndexOptions::Existing::only_check : IndexOptions::Existing::keep,
                             .index_dir = index_dir,
                             .only_needed = true,
                             .part = part,
                             .parts = parts};
  auto done = [&] {
    const Unlocked indexing;
    return index_files(plan, options);
  }();
  nb::list out;
  for (const IndexReport& report : value_of(std::move(done)))
    out.append(nb::make_tuple(to_str(report.file), report.built || report.found == IndexState::good));
  return out;
}

FeatureValue feature_of(nb::handle value) {
  if (value.is_none()) return std::monostate{};
  if (PyList_Check(value.ptr())) return texts_of(nb::borrow<nb::list>(value));
  if (auto ints = int64_values(value)) return *std::move(ints);
  if (auto floats = float32_values(value)) return *std::move(floats);
  throw nb::type_error("expected None, a list of bytes, or an int64 or float32 array with one axis");
}

ExampleMap map_of(const nb::dict& features) {
  ExampleMap map;
  for (const auto& [name, value] : features) map.emplace(from_str(name), feature_of(value));
  return map;
}

nb::bytes encode(const nb::dict& features) {
  const std::string message = encode_example(map_of(features));
  return nb::bytes(message.data(), message.size());
}

nb::bytes encode_sequence(const nb::dict& context, const nb::dict& lists) {
  SequenceExampleMap sequence{.context = map_of(context), .lists = {}};
  for (const auto& [name, steps] : lists) {
    std::vector<FeatureValue>& list = sequence.lists[from_str(name)];
    for (const nb::handle step : nb::cast<nb::list>(steps)) list.push_back(feature_of(step));
  }
  const std::string message = encode_sequence_example(sequence);
  return nb::bytes(message.data(), message.size());
}

struct ToPython {
  nb::object operator()(const std::vector<std::int64_t>& values) const { return copy_array(values); }
  nb::object operator()(const std::vector<float>& values) const { return copy_array(values); }
  nb::object operator()(const std::vector<std::string>& values) const { return to_list(values); }
  nb::object operator()(std::monostate) const { return nb::none(); }
};

nb::dict dict_of(const ExampleMap& map) {
  nb::dict out;
  for (const auto& [name, value] : map) out[to_str(name)] = std::visit(ToPython{}, value);
  return out;
}

nb::dict decode(const nb::bytes& message) {
  return dict_of(value_of(decode_example({message.c_str(), message.size()})));
}

nb::tuple decode_sequence(const nb::bytes& message) {
  const SequenceExampleMap sequence = value_of(decode_sequence_example({message.c_str(), message.size()}));
  nb::dict lists;
  for (const auto& [name, steps] : sequence.lists) {
    nb::list list;
    for (const FeatureValue& step : steps) list.append(std::visit(ToPython{}, step));
    lists[to_str(name)] = list;
  }
  return nb::make_tuple(dict_of(sequence.context), lists);
}

std::uint32_t checksum(nb::handle data) {
  Py_buffer view{};
  if (PyObject_GetBuffer(data.ptr(), &view, PyBUF_SIMPLE) != 0) throw nb::python_error();
  std::uint32_t out = 0;
  {
    const Unlocked reading;
    out = crc32c({static_cast<const char*>(view.buf), static_cast<std::size_t>(view.len)});
  }
  PyBuffer_Release(&view);
  return out;
}

}  // namespace

Compression compression_of(const std::string& name) {
  std::size_t index = 0;
  for (const std::string_view known : EnumNames<Compression>::names) {
    if (known == name) return static_cast<Compression>(index);
    ++index;
  }
  raise(Error{Code::config, Detail::invalid_argument,
              "compression must be \"none\", \"gzip\", \"zlib\", \"zstd\", \"bzip2\", \"xz\" or \"auto\", found \"" +
                  name + "\""});
}

void bind_records(nb::module_& module) {
  module.def("read_records", &read, nb::arg("path"), nb::arg("compression"),
             nb::sig("def read_records(path: str, compression: str) -> list[bytes]"));
  module.def("write_records", &write, nb::arg("path"), nb::arg("records"), nb::arg("compression"),
             nb::sig("def write_records(path: str, records: list[bytes], compression: str) -> None"));
  module.def("crc32c", &checksum, nb::arg("data"), nb::sig("def crc32c(data: bytes | memoryview) -> int"),
             "CRC-32C of the bytes of an object with a contiguous buffer.");
  module.def(
      "index_files", &index, nb::arg("paths"), nb::arg("compression"), nb::arg("force"), nb::arg("index_dir"),
      nb::arg("publish"),
      nb::sig("def index_files(paths: list[str] | Plan, compression: str, force: bool, index_dir: str, publish: str) "
              "-> list[tuple[str, str, bool, int, int, int]]"));
  module.def("index_plan", &index_plan, nb::arg("plan"), nb::arg("part"), nb::arg("parts"), nb::arg("only_check"),
             nb::arg("index_dir"),
             nb::sig("def index_plan(plan: Plan, part: int, parts: int, only_check: bool, index_dir: str) "
                     "-> list[tuple[str, bool]]"),
             "Makes the indexes that a run of the plan needs, of every `parts`th file from file `part` on, and says "
             "which files have a good one then.");
  module.def("encode_example", &encode, nb::arg("features"),
             nb::sig("def encode_example(features: dict[str, typing.Any]) -> bytes"));
  module.def("decode_example", &decode, nb::arg("message"),
             nb::sig("def decode_example(message: bytes) -> dict[str, typing.Any]"));
  module.def("encode_sequence_example", &encode_sequence, nb::arg("context"), nb::arg("lists"),
             nb::sig("def encode_sequence_example(context: dict[str, typing.Any], "
                     "lists: dict[str, list[typing.Any]]) -> bytes"));
  module.def("decode_sequence_example", &decode_sequence, nb::arg("message"),
             nb::sig("def decode_sequence_example(message: bytes) -> "
                     "tuple[dict[str, typing.Any], dict[str, list[typing.Any]]]"));
}

}  // namespace forebay::python
