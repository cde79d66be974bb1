// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <forebay/error.h>

namespace forebay {

/// A function of the program that a run asks: integers in, integers out. The thread that decides the order asks and
/// never waits; a thread of the program answers.
///
///     run       ask(q) ─► nothing yet ─► the thread does other work … wake ─► ask(q) ─► the answer, or the error
///     program   next(timeout) ─► q ─► the function ─► answer(q, integers) or fail(q, error)
///
/// The function must be pure: the same question has the same answer, because a restart asks again. Any number of
/// threads may call, and any number of runs may ask. Copies share the questions.
class Function {
 public:
  using Integers = std::vector<std::int64_t>;
  Function();

  /// The next question that no thread has taken; empty when there is none until the timeout. Fails with Code::cancelled
  /// after `close`.
  [[nodiscard]] Result<std::optional<Integers>> next(std::chrono::milliseconds timeout) const;
  void answer(const Integers& question, Integers answer) const;
  void fail(const Integers& question, Error error) const;  ///< The run that asks ends with this error.
  void close() const;                                      ///< Ends the wait of `next`. Questions stay open.

  /// The answer, which is given once: the same question is a new one after that. Empty: not yet.
  [[nodiscard]] Result<std::optional<Integers>> ask(std::span<const std::int64_t> question) const;
  /// `wake` is called from any thread after an answer or an error, while the returned object exists. Its end waits for
  /// a call of `wake` that is going on.
  [[nodiscard]] std::shared_ptr<void> listen(std::function<void()> wake) const;

 private:
  class Questions;
  std::shared_ptr<Questions> questions_;
};

/// The function that an order or a batcher asks.
struct AskedFunction {
  std::string name;                       ///< Its name in Bindings.
  std::vector<std::string> option = {};   ///< The option that names it, for faults (Field).
  std::optional<Function> function = {};  ///< The planner looks it up.
};

/// Asks the function of a stage. Fails with Code::cancelled while there is no answer: the stage passes the error on,
/// and the engine repeats the call later. Errors name the function.
using Ask = std::function<Result<Function::Integers>(std::span<const std::int64_t> question)>;

}  // namespace forebay
