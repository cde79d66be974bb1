// SPDX-License-Identifier: Apache-2.0
#include "stores/http/queue.h"

#include <algorithm>
#include <utility>

namespace forebay::stores::http {

JobQueue::Waiting& JobQueue::at(const Call& call) {
  return hosts_.try_emplace(call.host(), Waiting{.host = Host{max_connections_}, .jobs = {}}).first->second;
}

void JobQueue::add(std::shared_ptr<Job> job, Clock::time_point at) {
  const std::lock_guard lock{mutex_};
  later_.emplace(at, std::move(job));
}

std::shared_ptr<Job> JobQueue::next(Clock::time_point now) {
  const std::lock_guard lock{mutex_};
  while (!later_.empty() && later_.begin()->first <= now) {
    auto job = std::move(later_.begin()->second);
    later_.erase(later_.begin());
    job->queued = now;
    auto& jobs = at(*job->call).jobs;
    jobs.push_back(std::move(job));
  }
  for (auto& [name, waiting] : hosts_) {
    if (waiting.jobs.empty() || !waiting.host.may_begin()) continue;
    auto job = std::move(waiting.jobs.front());
    waiting.jobs.pop_front();
    if (Traffic* const traffic = job->call->traffic(); traffic != nullptr && waiting.host.is_throttled())
      traffic->throttled(std::chrono::duration<double>(now - job->queued).count());
    waiting.host.began(now, false);
    return job;
  }
  return nullptr;
}

std::optional<Clock::time_point> JobQueue::next_time() {
  const std::lock_guard lock{mutex_};
  return later_.empty() ? std::nullopt : std::optional{later_.begin()->first};
}

std::vector<std::shared_ptr<Job>> JobQueue::unwanted() {
  const std::lock_guard lock{mutex_};
  std::vector<std::shared_ptr<Job>> out;
  const auto take = [&](const std::shared_ptr<Job>& job) {
    if (job->call->wanted()) return false;
    out.push_back(job);
    return true;
  };
  for (auto& [name, waiting] : hosts_) std::erase_if(waiting.jobs, take);
  std::erase_if(later_, [&](const auto& entry) { return take(entry.second); });
  return out;
}

std::vector<std::shared_ptr<Job>> JobQueue::take_all() {
  const std::lock_guard lock{mutex_};
  std::vector<std::shared_ptr<Job>> out;
  for (auto& [name, waiting] : hosts_) {
    std::ranges::move(waiting.jobs, std::back_inserter(out));
    waiting.jobs.clear();
  }
  for (auto& [time, job] : later_) out.push_back(std::move(job));
  later_.clear();
  return out;
}

bool JobQueue::hedge(const Call& call, double seconds, double rate, bool silent, Clock::time_point now) {
  const std::lock_guard lock{mutex_};
  Host& host = at(call).host;
  const auto after = host.hedge_after();
  if (!after || seconds < *after || !(silent || rate < host.slow_rate()) || !host.may_begin()) return false;
  host.began(now, true);
  return true;
}

void JobQueue::ended(const Call& call, Clock::time_point began, Clock::time_point now, bool fault, bool slower) {
  const std::lock_guard lock{mutex_};
  at(call).host.ended(began, now, fault, slower);
}

void JobQueue::served(const Call& call, double seconds, double rate) {
  const std::lock_guard lock{mutex_};
  at(call).host.served(seconds, rate);
}

bool JobQueue::out_of_order(const Call& call) {
  const std::lock_guard lock{mutex_};
  return at(call).host.out_of_order();
}

}  // namespace forebay::stores::http
