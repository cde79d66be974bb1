// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <forebay/batch.h>
#include <forebay/plan.h>
#include <forebay/staging.h>

#include "errors.h"

namespace forebay::python {

/// The Python types that values of tensors become. Immutable.
struct ValueTypes {
  ValueTypes() : bfloat16{nb::none()}, ragged{nb::none()}, sparse{nb::none()} {}
  explicit ValueTypes(const std::vector<ColumnSpec>& columns);
  [[nodiscard]] nb::object make(const Value& value) const;  ///< An array, Ragged or Sparse.

  nb::object bfloat16;        ///< NumPy's type, or None.
  nb::object ragged, sparse;  ///< Classes of forebay.values.
};

/// The part of a batch that is the same for all batches of a run. Immutable; shared by them.
struct Layout {
  explicit Layout(const Plan& plan);
  Layout(const nb::list& names, nb::list inputs, nb::list targets);

  nb::dict places;           ///< Name → place in the schema.
  nb::list inputs, targets;  ///< Names.
  ValueTypes types;
  nb::object origin, span;  ///< Classes of forebay.values.
};

/// What a batch that was pickled in another process knows besides its values.
struct SentBatch {
  bool values_only = false;  ///< The program made it of values; nothing else is known.
  std::int64_t rows = 0;
  std::int64_t valid_rows = 0;
  std::int64_t epoch = 0;
  std::int64_t number = 0;
  std::optional<bool> ends_epoch;
  std::string position = {};        ///< Batch::position as text.
  nb::object mask = {};             ///< PyBatch::mask, unless it follows from the numbers of rows.
  std::vector<Tensor> memory = {};  ///< Which its arrays lie in, where a ReceivedMemory gave it.
};

/// The Python object of a batch. It makes each array at its first use and returns the same object afterwards. Used with
/// the interpreter lock held.
class PyBatch {
 public:
  PyBatch(Batch batch, std::shared_ptr<const Layout> layout) : batch_{std::move(batch)}, layout_{std::move(layout)} {}

  /// A batch of another process. `values` are in the order of the layout.
  PyBatch(SentBatch sent, std::shared_ptr<const Layout> layout, const nb::list& values, nb::dict lengths);

  /// A batch of values that the program gives: a mapping, or pairs of names and values. Nothing else is known of it.
  explicit PyBatch(nb::handle values);

  /// The batch of a run of this process, or null.
  [[nodiscard]] const Batch* own() const { return sent_ ? nullptr : &batch_; }
  /// Memory of a ReceivedMemory in which arrays of a batch of another process lie.
  [[nodiscard]] std::span<const Tensor> memory() const;
  void own_memory(std::span<const ReceivedBytes* const> parts);  ///< Finds which of the parts its arrays lie in.
  /// Without the position, unless the batch was pickled. AttributeError for a batch of values only, in which it says
  /// that there is no `what`.
  [[nodiscard]] SentBatch facts(const char* what) const;
  [[nodiscard]] Json position() const;
  [[nodiscard]] nb::tuple reduce();  ///< For `pickle`.
  [[nodiscard]] const Layout& layout() const { return *layout_; }
  [[nodiscard]] nb::object item(nb::handle name);  ///< KeyError names the nearest.
  [[nodiscard]] nb::object get(nb::handle name, nb::handle default_value);
  [[nodiscard]] bool contains(nb::handle name) const;
  [[nodiscard]] nb::object raw(nb::handle name) const;
  [[nodiscard]] nb::dict lengths();
  [[nodiscard]] nb::object mask() const;  ///< Which rows came from records, bool [rows].
  [[nodiscard]] nb::dict group(const nb::list& names);
  [[nodiscard]] nb::list skipped() const;   ///< Origin and error of the rows that skip_row took out.
  [[nodiscard]] nb::list branches() const;  ///< The branch of each valid row.
  [[nodiscard]] nb::list origins()
      const;  ///< Fails with StateError for a batch of another process; `record_keys`, too.
  [[nodiscard]] nb::list record_keys();
  [[nodiscard]] nb::object identities() const;  ///< int64 [rows, 6]: the members of RowIdentity.
  [[nodiscard]] nb::object spans() const;
  [[nodiscard]] nb::object state(nb::handle name) const;
  void save_state(nb::handle name, nb::handle values) const;
  [[nodiscard]] nb::list state_names() const;
  [[nodiscard]] nb::object seq_idx() const;
  [[nodiscard]] bool epoch_end() const;
  [[nodiscard]] nb::object complete_frac() const;
  [[nodiscard]] nb::dict frames() const;
  [[nodiscard]] nb::object text();
  [[nodiscard]] const Batch& made_by_run(const char* what) const;  ///< Fails for a batch of another process.

 private:
  [[nodiscard]] nb::object at(std::size_t place);
  [[nodiscard]] nb::object origin_of(const Origin& origin, std::int64_t row) const;
  [[nodiscard]] nb::handle place_of(nb::handle name) const;
  [[noreturn]] void unknown(nb::handle name) const;
  [[nodiscard]] std::string state_name(nb::handle name) const;  // KeyError names the nearest
  void need(const char* what) const;                            // fails for a batch of another process
  void known(const char* what) const;                           // fails for a batch of values only

  Batch batch_;                    // unless `sent_` is set
  std::optional<SentBatch> sent_;  // then `made_` is complete, and `lengths_`, unless it has values only
  std::shared_ptr<const Layout> layout_;
  std::vector<nb::object> made_;
  nb::object lengths_;
  nb::object record_keys_;
};

void bind_batches(nb::module_& module);
void bind_sent(nb::module_& module);              ///< Called by `bind_batches`, like the next ones.
void bind_states(nb::class_<PyBatch>& batch);     ///< The states of sequences.
void bind_sequences(nb::class_<PyBatch>& batch);  ///< Their numbers, and the end of an epoch.
void bind_rebuilt(nb::class_<PyBatch>& batch);    ///< What a batch of another process has, too.
void bind_batch_to_arrow(nb::class_<PyBatch>& batch);

}  // namespace forebay::python
