// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include <forebay/complete_frac.h>
#include <forebay/reference.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>

#include "arrays.h"
#include "arrow.h"
#include "audio.h"
#include "batches.h"
#include "conversions.h"
#include "decode.h"
#include "documents.h"
#include "file_systems.h"
#include "functions.h"
#include "images.h"
#include "inspect.h"
#include "queue.h"
#include "reader.h"
#include "records.h"
#include "rows.h"
#include "runs.h"
#include "staging.h"
#include "state_saver.h"

NB_MODULE(_core, module) {
  namespace nb = nanobind;
  using namespace forebay::python;
  // Programs may end with loaders and batches alive.
  nb::set_leak_warnings(false);
  import_numpy();
  module.doc() = "The compiled part of forebay; use the names of the package.";
  module.attr("version") = FOREBAY_VERSION;
  bind_audio(module);
  bind_batches(module);
  bind_conversions(module);
  bind_decode(module);
  bind_file_systems(module);
  bind_functions(module);
  bind_queue(module);
  bind_reader(module);
  bind_rows(module);
  bind_arrow(module);
  bind_runs(module);
  bind_state_saver(module);
  bind_staging(module);
  bind_records(module);
  bind_images(module);
  bind_inspect(module);
  bind_verify(module);
  module.def(
      "bytes_of", [](nb::handle memory) { return memory_of(memory); }, nb::arg("memory"),
      nb::sig("def bytes_of(memory: int | str) -> int"),
      "A number of bytes, or text such as \"1GiB\". Raises ConfigError for anything else.");
  module.def(
      "complete_frac",
      [](std::int64_t seq_idx, std::optional<std::int64_t> sequences) {
        const forebay::Fraction done = forebay::complete_frac(seq_idx, sequences);
        return nb::make_tuple(done.value, done.exact);
      },
      nb::arg("seq_idx"), nb::arg("sequences").none(),
      nb::sig("def complete_frac(seq_idx: int, sequences: int | None) -> tuple[float, bool]"),
      "The done part of an epoch, and whether it is exact.");
  module.def(
      "plugin_reference", [] { return to_str(forebay::plugin_reference().text()); },
      nb::sig("def plugin_reference() -> str"), "JSON text: every plug-in with its options.");
  module.def(
      "document_reference", [] { return to_str(forebay::document_reference().text()); },
      nb::sig("def document_reference() -> str"),
      "JSON text: every plug-in, part of documents and kind of feature with its options.");
  module.def(
      "feature_reference", [] { return to_str(forebay::feature_reference().text()); },
      nb::sig("def feature_reference() -> str"), "JSON text: the kinds of features with their options.");
  module.def(
      "document_schema", [] { return to_str(forebay::document_schema().text()); },
      nb::sig("def document_schema() -> str"), "JSON text: JSON Schema of the documents.");
}
