// SPDX-License-Identifier: Apache-2.0
#include "counts.h"

#include <utility>

#include "errors.h"
#include "interpreter.h"

namespace forebay::python {

std::optional<std::int64_t> count(const Plan& plan, CountOptions options) {
  auto batches = [&] {
    Unlocked counting;
    Timeout since;
    options.go_on = [&] { return !since.over() || counting.no_signal(); };
    return count_batches(plan, options);
  }();
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  return value_of(std::move(batches));
}

std::int64_t count_all(const Plan& plan, bool per_epoch, std::int64_t threads) {
  const auto epochs = per_epoch ? std::optional{std::int64_t{1}} : std::nullopt;
  const auto batches = count(plan, {.epochs = epochs, .decode = true, .shard = plan.shard(), .threads = threads});
  if (!batches) throw nb::type_error("a run for ever has no number of batches; count(per_epoch=True) counts an epoch");
  return *batches;
}

std::int64_t own_of(const Shard& shard, std::int64_t batches) {
  return batches / shard.batch_count + (shard.batch_index < batches % shard.batch_count ? 1 : 0);
}

}  // namespace forebay::python
