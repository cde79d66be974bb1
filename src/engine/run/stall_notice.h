// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include <forebay/loader.h>

namespace forebay::engine {

/// For doors that wait for batches in slices: says, every half minute without a batch, what each thread is at.
/// The environment variable FOREBAY_STALL_SECONDS sets another number of seconds; what is no positive number is
/// ignored.
class StallNotice {
 public:
  StallNotice();
  /// To be asked while the next batch is not there.
  [[nodiscard]] std::optional<std::string> look(const Loader& pipeline);
  void delivered() { said_ = 0; }

 private:
  double every_;
  double said_ = 0;  // after how many seconds, for the present batch
};

}  // namespace forebay::engine
