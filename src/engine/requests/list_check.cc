// SPDX-License-Identifier: Apache-2.0
#include "engine/requests/list_check.h"

#include <utility>

#include <unistd.h>

namespace forebay::engine {

ListCheck::ListCheck() : process_{getpid()} {}

void ListCheck::begin(FileSystem& system, const std::string& path, const FileVersion& told) {
  system.find(path, [self = shared_from_this(), told](const Result<FileVersion>& found) {
    const bool equal = found.ok() && found->size == told.size && found->version == told.version;
    self->answered(equal ? State::equal : State::different);
  });
}

ListCheck::State ListCheck::state() const {
  const bool inherited = process_ != getpid();
  const Lock lock{mutex_};
  return state_ == State::asked && inherited ? State::different : state_;
}

bool ListCheck::call_when_done(std::function<void()> done) {
  if (process_ != getpid()) return false;
  const Lock lock{mutex_};
  if (state_ != State::asked) return false;
  waiting_.push_back(std::move(done));
  return true;
}

void ListCheck::answered(State state) {
  std::vector<std::function<void()>> waiting;
  {
    const Lock lock{mutex_};
    state_ = state;
    waiting = std::exchange(waiting_, {});
  }
  for (const auto& done : waiting) done();
}

}  // namespace forebay::engine
