// SPDX-License-Identifier: Apache-2.0
#include "reader.h"

#include <algorithm>
#include <string>
#include <utility>

#include <forebay/record_reader.h>
#include <nanobind/stl/string.h>

#include "waiting.h"

namespace forebay::python {
namespace {

nb::list records_of(const std::vector<ReadRecord>& records) {
  nb::list out;
  for (const ReadRecord& record : records)
    out.append(nb::make_tuple(to_str(record.key), nb::bytes(record.value.data(), record.value.size())));
  return out;
}

/// Without the places in the text, which the caller never saw.
void forget_places(Json& value) {
  const std::string pointer = value.place().pointer;
  value.mark({.pointer = pointer});
  for (Json& item : value.items()) forget_places(item);
  for (Json::Member& member : value.members()) forget_places(member.second);
}

RecordReader make_reader(const std::string& kind, const std::string& options, const std::string& on_corrupt,
                         bool skip_missing) {
  const auto& names = EnumNames<OnCorruptFile>::names;
  const auto found = std::ranges::find(names, on_corrupt);
  if (found == names.end()) throw nb::value_error("an unknown way with corrupt data");
  Json given = value_of(parse_json(options));
  forget_places(given);
  return value_of(RecordReader::make({.kind = kind,
                                      .options = std::move(given),
                                      .on_corrupt = static_cast<OnCorruptFile>(found - names.begin()),
                                      .skip_missing = skip_missing}));
}

}  // namespace

void bind_reader(nb::module_& module) {
  nb::class_<RecordReader>(module, "Reader", "The compiled part of forebay.Reader. One thread at a time may call it.")
      .def_prop_ro("needs_work", &RecordReader::needs_work)
      .def(
          "start", [](RecordReader& self, const nb::str& work) { self.start(from_str(work)); }, nb::arg("work"),
          nb::sig("def start(self, work: str) -> None"))
      .def(
          "read",
          [](RecordReader& self, std::int64_t count) {
            return records_of(waiting([&](const StopCheck* check) { return self.read(count, check); }));
          },
          nb::arg("count"), nb::sig("def read(self, count: int) -> list[tuple[str, bytes]]"),
          "Keys and values; none: a file is needed.")
      .def("reset", &RecordReader::reset)
      .def(
          "state", [](const RecordReader& self) { return to_str(self.state()); }, nb::sig("def state(self) -> str"))
      .def(
          "restore",
          [](RecordReader& self, const nb::str& state) {
            const std::string text = from_str(state);
            value_of([&] {
              const Unlocked reading;
              return self.restore(text);
            }());
          },
          nb::arg("state"), nb::sig("def restore(self, state: str) -> None"))
      .def_prop_ro(
          "counters",
          [](const RecordReader& self) {
            const RecordReader::Counters& all = self.counters();
            return nb::make_tuple(all.records_produced, all.work_units_completed, all.records_skipped,
                                  all.files_skipped);
          },
          nb::sig("def counters(self) -> tuple[int, int, int, int]"));
  module.def("make_reader", &make_reader, nb::arg("kind"), nb::arg("options"), nb::arg("on_corrupt"),
             nb::arg("skip_missing"),
             nb::sig("def make_reader(kind: str, options: str, on_corrupt: str, skip_missing: bool) -> Reader"),
             "The options are JSON text.");
}

}  // namespace forebay::python
