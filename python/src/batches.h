// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <forebay/batch.h>
#include <forebay/plan.h>

#include "errors.h"

namespace forebay::python {

/// The part of a batch that is the same for all batches of a run. Immutable; shared by them.
struct Layout {
  explicit Layout(const Plan& plan);

  nb::dict places;            ///< Name → place in the schema.
  nb::list inputs, targets;   ///< Names.
  nb::object bfloat16;        ///< NumPy's type, or None.
  nb::object ragged, sparse;  ///< Classes of forebay.values.
};

/// The Python object of a batch. It makes each array at its first use and returns the same object afterwards. Used with
/// the interpreter lock held.
class PyBatch {
 public:
  PyBatch(Batch batch, std::shared_ptr<const Layout> layout) : batch_{std::move(batch)}, layout_{std::move(layout)} {}

  [[nodiscard]] const Batch& batch() const { return batch_; }
  [[nodiscard]] const Layout& layout() const { return *layout_; }
  [[nodiscard]] nb::object item(nb::handle name);  ///< KeyError names the nearest.
  [[nodiscard]] nb::object get(nb::handle name, nb::handle default_value);
  [[nodiscard]] bool contains(nb::handle name) const;
  [[nodiscard]] nb::object raw(nb::handle name) const;
  [[nodiscard]] nb::dict lengths();
  [[nodiscard]] nb::dict group(const nb::list& names);
  [[nodiscard]] nb::list origins() const;
  [[nodiscard]] nb::list record_keys();
  [[nodiscard]] nb::object text();

 private:
  [[nodiscard]] nb::object at(std::size_t place);
  [[nodiscard]] nb::object make(const Value& value) const;
  [[nodiscard]] nb::handle place_of(nb::handle name) const;
  [[noreturn]] void unknown(nb::handle name) const;

  Batch batch_;
  std::shared_ptr<const Layout> layout_;
  std::vector<nb::object> made_;
  nb::object lengths_;
  nb::object record_keys_;
};

void bind_batches(nb::module_& module);

}  // namespace forebay::python
