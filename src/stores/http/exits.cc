// SPDX-License-Identifier: Apache-2.0
#include "stores/http/exits.h"

#include <cstdlib>
#include <mutex>
#include <utility>
#include <vector>

#include <unistd.h>

#include "stores/forever.h"

namespace forebay::stores::http {

namespace {

struct Exits {
  std::mutex mutex;
  bool told = false;
  std::vector<std::pair<pid_t, std::weak_ptr<Stops>>> all;
};
Exits& exits() {
  static Forever<Exits> only;
  return *only;
}

}  // namespace

void stop_all() {
  std::vector<std::shared_ptr<Stops>> living;
  {
    const std::unique_lock lock{exits().mutex, std::try_to_lock};  // a forked child may find it locked
    if (!lock.owns_lock()) return;
    for (const auto& [process, what] : exits().all)
      if (process == getpid()) living.push_back(what.lock());
  }
  for (const auto& one : living)
    if (one) one->stop();
}

void stop_at_exit(const std::shared_ptr<Stops>& what) {
  const std::lock_guard lock{exits().mutex};
  if (!std::exchange(exits().told, true)) static_cast<void>(std::atexit(&stop_all));
  std::erase_if(exits().all, [](const auto& entry) { return entry.second.expired(); });
  exits().all.emplace_back(getpid(), what);
}

}  // namespace forebay::stores::http
