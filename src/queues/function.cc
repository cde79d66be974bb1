// SPDX-License-Identifier: Apache-2.0
#include <forebay/function.h>

#include <condition_variable>
#include <deque>
#include <list>
#include <map>
#include <mutex>
#include <utility>

namespace forebay {

/// The open questions of a function and their answers. Shared by the copies of the function and by its listeners.
class Function::Questions {
 public:
  Result<std::optional<Integers>> next(std::chrono::milliseconds timeout) {
    std::unique_lock lock{mutex_};
    asked_.wait_for(lock, timeout, [&] { return closed_ || !untaken_.empty(); });
    if (closed_) return Error{Code::cancelled, Detail::failed_precondition, "the function is closed"};
    if (untaken_.empty()) return std::optional<Integers>{};
    std::optional<Integers> out = std::move(untaken_.front());
    untaken_.pop_front();
    return out;
  }

  void put(const Integers& question, Result<Integers> answer) {
    {
      const std::lock_guard lock{mutex_};
      const auto found = answers_.find(question);
      if (found == answers_.end()) return;  // it was not asked
      found->second = std::move(answer);
    }
    const std::lock_guard lock{wake_mutex_};
    for (const auto& wake : wakes_) wake();
  }

  void close() {
    {
      const std::lock_guard lock{mutex_};
      closed_ = true;
    }
    asked_.notify_all();
  }

  Result<std::optional<Integers>> ask(std::span<const std::int64_t> question) {
    Integers key{question.begin(), question.end()};
    {
      const std::lock_guard lock{mutex_};
      const auto found = answers_.find(key);
      if (found != answers_.end()) {
        if (!found->second) return std::optional<Integers>{};
        Result<Integers> answer = *std::move(found->second);
        answers_.erase(found);
        if (!answer.ok()) return answer.error();
        return std::optional<Integers>{*std::move(answer)};
      }
      untaken_.push_back(key);
      answers_.emplace(std::move(key), std::nullopt);
    }
    asked_.notify_one();
    return std::optional<Integers>{};
  }

  using Wakes = std::list<std::function<void()>>;

  Wakes::iterator add(std::function<void()> wake) {
    const std::lock_guard lock{wake_mutex_};
    return wakes_.insert(wakes_.end(), std::move(wake));
  }
  void remove(Wakes::iterator wake) {
    const std::lock_guard lock{wake_mutex_};
    wakes_.erase(wake);
  }

 private:
  std::mutex mutex_;
  std::condition_variable asked_;
  std::deque<Integers> untaken_;                                 // questions that no thread has taken
  std::map<Integers, std::optional<Result<Integers>>> answers_;  // by open question; empty: no answer yet
  bool closed_ = false;
  std::mutex wake_mutex_;  // taken before any lock of a run, never inside mutex_
  Wakes wakes_;
};

Function::Function() : questions_{std::make_shared<Questions>()} {}

Result<std::optional<Function::Integers>> Function::next(std::chrono::milliseconds timeout) const {
  return questions_->next(timeout);
}
void Function::answer(const Integers& question, Integers answer) const {
  questions_->put(question, Result<Integers>{std::move(answer)});
}
void Function::fail(const Integers& question, Error error) const {
  questions_->put(question, Result<Integers>{std::move(error)});
}
void Function::close() const { questions_->close(); }

Result<std::optional<Function::Integers>> Function::ask(std::span<const std::int64_t> question) const {
  return questions_->ask(question);
}

std::shared_ptr<void> Function::listen(std::function<void()> wake) const {
  /// A wake that is removed when its owner goes.
  struct Listener {
    Listener(std::shared_ptr<Questions> of, std::function<void()> wake)
        : questions{std::move(of)}, place{questions->add(std::move(wake))} {}
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;
    ~Listener() { questions->remove(place); }
    std::shared_ptr<Questions> questions;
    Questions::Wakes::iterator place;
  };
  return std::make_shared<Listener>(questions_, std::move(wake));
}

}  // namespace forebay
