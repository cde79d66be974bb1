// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include <forebay/json.h>
#include <forebay/rows.h>

namespace forebay::testing {

/// A thread that answers the questions of a function until it goes.
class Answering {
 public:
  using Answer = std::function<Result<Function::Integers>(const Function::Integers&)>;
  explicit Answering(Answer answer) : answer_{std::move(answer)}, thread_{[this] { run(); }} {}
  Answering(const Answering&) = delete;
  Answering& operator=(const Answering&) = delete;
  ~Answering() {
    function_.close();
    thread_.join();
  }
  /// Binds the function to a name.
  [[nodiscard]] Bindings bindings(const std::string& name = "f") const { return {{name, function_}}; }
  /// The questions so far.
  [[nodiscard]] std::set<Function::Integers> asked() const {
    const std::lock_guard lock{mutex_};
    return asked_;
  }

 private:
  void run() {
    while (true) {
      const auto question = function_.next(std::chrono::milliseconds{20});
      if (!question.ok()) return;
      if (!*question) continue;
      {
        const std::lock_guard lock{mutex_};
        asked_.insert(**question);
      }
      auto answer = answer_(**question);
      if (answer.ok()) {
        function_.answer(**question, *std::move(answer));
      } else {
        function_.fail(**question, answer.error());
      }
    }
  }

  const Answer answer_;
  const Function function_;
  mutable std::mutex mutex_;
  std::set<Function::Integers> asked_;
  std::thread thread_;
};

/// For the example of an order: binds the name that its options have to a function that answers (…, n) with n - 1 down
/// to 0. Without a name, nothing.
inline Bindings backwards(const Json& options) {
  static const Answering answers{[](const Function::Integers& question) {
    Function::Integers out;
    for (std::int64_t i = question.back() - 1; i >= 0; --i) out.push_back(i);
    return Result<Function::Integers>{std::move(out)};
  }};
  const Json* const name = options.find("bind");
  return name == nullptr ? Bindings{} : answers.bindings(name->string());
}

/// For the example of a window step: a function that answers (…, frames) with two halves, the first one not shorter.
inline Bindings halves(const Json& options) {
  static const Answering answers{[](const Function::Integers& question) {
    const std::int64_t frames = question.back();
    const std::int64_t middle = (frames + 1) / 2;
    if (frames < 2) return Result<Function::Integers>{Function::Integers{0, frames}};
    return Result<Function::Integers>{Function::Integers{0, middle, middle, frames}};
  }};
  const Json* const name = options.find("bind");
  return name == nullptr ? Bindings{} : answers.bindings(name->string());
}

}  // namespace forebay::testing
