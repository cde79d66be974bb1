// SPDX-License-Identifier: Apache-2.0
// What a batch knows of its sequences and of the epoch.
#include "arrays.h"
#include "batches.h"

namespace forebay::python {

nb::object PyBatch::seq_idx() const {
  need("numbers of sequences");
  const auto numbers = batch_.seq_idx();
  return numbers ? copy_array(*numbers) : nb::none();
}

bool PyBatch::epoch_end() const {
  need("numbers of sequences");
  return batch_.epoch_end();
}

nb::object PyBatch::complete_frac() const {
  need("progress");
  const Fraction done = batch_.complete_frac();
  return nb::module_::import_("forebay.values").attr("Fraction")(done.value, done.exact);
}

nb::dict PyBatch::frames() const {
  need("numbers of frames");
  nb::dict out;
  for (const std::string& name : batch_.names()) {
    const Value& value = *batch_.find(name);
    const std::size_t axes = value.kind == Value::Kind::sparse ? value.dense_shape.rank() : value.values.shape.rank();
    if (axes > 1 || value.kind == Value::Kind::ragged) out[to_str(name)] = batch_.frames(name);
  }
  return out;
}

void bind_sequences(nb::class_<PyBatch>& batch) {
  batch
      .def_prop_ro("seq_idx", &PyBatch::seq_idx, nb::sig("def seq_idx(self) -> typing.Any"),
                   "The number of each row's sequence in its pass, int64 [rows]; -1 for an empty row. None unless the "
                   "batcher has `seq_idx` or `epoch_end`.")
      .def_prop_ro(
          "epoch_end", &PyBatch::epoch_end, nb::sig("def epoch_end(self) -> bool"),
          "Whether the last row is the empty one that the batcher's `epoch_end` adds; its `seq_idx` is the number "
          "of sequences of the epoch.")
      .def_prop_ro("complete_frac", &PyBatch::complete_frac, nb::sig("def complete_frac(self) -> typing.Any"),
                   "The done part of the epoch after this batch: Fraction(value, exact).")
      .def_prop_ro("frames", &PyBatch::frames, nb::sig("def frames(self) -> dict[str, int]"),
                   "The frames of all rows of each tensor that has a first axis, without padding.");
}

}  // namespace forebay::python
