// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <forebay/batch.h>
#include <forebay/plan.h>

#include "errors.h"

namespace forebay::python {

/// What all batches of a run have in common.
struct Layout {
  explicit Layout(const Plan& plan);

  nb::dict places;                         ///< name → place in the schema
  nb::list inputs, targets;                ///< names
  nb::object bfloat16;                     ///< NumPy's type, or None
  nb::object ragged, sparse, record_keys;  ///< classes of forebay.values
};

/// A batch as Python sees it: arrays are made when first looked at, and then kept.
class PyBatch {
 public:
  PyBatch(Batch batch, std::shared_ptr<const Layout> layout) : batch_{std::move(batch)}, layout_{std::move(layout)} {}

  [[nodiscard]] const Batch& batch() const { return batch_; }
  [[nodiscard]] const Layout& layout() const { return *layout_; }
  [[nodiscard]] nb::object item(nb::handle name);  ///< KeyError names the nearest.
  [[nodiscard]] nb::object get(nb::handle name, nb::handle fallback);
  [[nodiscard]] bool contains(nb::handle name) const;
  [[nodiscard]] nb::object raw(nb::handle name) const;
  [[nodiscard]] nb::dict lengths();
  [[nodiscard]] nb::dict group(const nb::list& names);
  [[nodiscard]] nb::list origins() const;
  [[nodiscard]] nb::list record_keys() const;
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
};

void bind_batches(nb::module_& module);

}  // namespace forebay::python
