// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <forebay/function.h>

namespace forebay::engine {

/// The run's end of the functions of the program. A member of OpenFiles, used by the order plane only.
class FunctionCalls {
 public:
  /// Answers call `wake`, from any thread.
  explicit FunctionCalls(std::function<void()> wake) : wake_{std::move(wake)} {}

  /// Empty: the function has not answered yet. An error of the function names it.
  [[nodiscard]] Result<std::optional<Function::Integers>> ask(const AskedFunction& asked,
                                                              std::span<const std::int64_t> question) {
    auto& listener = listeners_[asked.name];
    if (listener == nullptr) listener = asked.function->listen(wake_);
    return asked.function->ask(question);
  }
  /// From now on `wake` is not called. Called without a lock of the run, which `wake` takes.
  void close() { listeners_.clear(); }

 private:
  const std::function<void()> wake_;
  std::map<std::string, std::shared_ptr<void>> listeners_;  // by name of the function
};

}  // namespace forebay::engine
