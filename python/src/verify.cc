// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include <forebay/verify.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "interpreter.h"
#include "records.h"

namespace forebay::python {
namespace {

nb::tuple to_tuple(const CorruptPlace& place) {
  return nb::make_tuple(place.what == CorruptPlace::What::record ? "record" : "range", place.record, place.offset,
                        place.bytes, to_str(place.reason.text()));
}

nb::tuple to_tuple(const FileReport& report) {
  nb::list places;
  for (const CorruptPlace& place : report.first) places.append(to_tuple(place));
  const auto compression = EnumNames<Compression>::names[static_cast<std::size_t>(report.compression)];
  return nb::make_tuple(to_str(report.file), to_str(compression), report.records, report.bytes, report.corrupt_records,
                        report.unreadable_ranges, report.corrupt_bytes, nb::tuple(places),
                        report.error ? to_str(report.error->text()) : nb::none());
}

/// A report is a tuple in the order of the fields of forebay.corruption.FileReport.
nb::list verify_files(const nb::list& paths, const std::string& compression, std::int64_t threads) {
  const std::vector<std::string> names = from_strs(paths);
  VerifyOptions options{.compression = compression_of(compression), .threads = threads};
  auto reports = [&] {
    Unlocked verifying;
    options.progress = [&](const VerifyProgress&) { return verifying.no_signal(); };
    return verify(names, options);
  }();
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  nb::list out;
  for (const FileReport& report : value_of(std::move(reports))) out.append(to_tuple(report));
  return out;
}

}  // namespace

/// Verifies the files of a plan. `report` gets each report, `progress` (share, records, bytes_read, corrupts) about ten
/// times a second; false from it stops. Both run in the calling thread and may raise.
void verify_plan(const Plan& plan, std::int64_t threads, const nb::callable& report, const nb::callable& progress) {
  VerifyOptions options{.threads = threads};
  auto reports = [&] {
    Unlocked verifying;
    options.report = [&](const FileReport& found) { verifying.locked([&] { report(to_tuple(found)); }); };
    options.progress = [&](const VerifyProgress& now) {
      return verifying.locked(
          [&] { return nb::cast<bool>(progress(now.fraction, now.records, now.bytes_read, now.corrupts)); });
    };
    return verify(plan, options);
  }();
  static_cast<void>(value_of(std::move(reports)));
}

void bind_verify(nb::module_& module) {
  module.def("verify", &verify_files, nb::arg("paths"), nb::arg("compression"), nb::arg("threads"),
             nb::sig("def verify(paths: list[str], compression: str, threads: int) -> list[tuple[typing.Any, ...]]"));
  module.def(
      "verify_plan", &verify_plan, nb::arg("plan"), nb::arg("threads"), nb::arg("report"), nb::arg("progress"),
      nb::sig("def verify_plan(plan: Plan, threads: int, report: collections.abc.Callable[[tuple[typing.Any, ...]], "
              "None], progress: collections.abc.Callable[[float, int, int, int], bool]) -> None"));
}

}  // namespace forebay::python
