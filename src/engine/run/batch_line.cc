// SPDX-License-Identifier: Apache-2.0
#include "engine/run/batch_line.h"

#include <new>
#include <utility>

namespace forebay::engine {

bool BatchLine::add(std::unique_ptr<Job> job) {
  try {
    jobs_.push_back(std::move(job));
  } catch (const std::bad_alloc&) {
    return false;
  }
  tickets_ += jobs_.back()->cut;
  jobs_.back()->number = next_++;
  return true;
}

Ticket* BatchLine::take_ticket() {
  if (tickets_ == 0) return nullptr;
  --tickets_;
  Job& job = *jobs_[open_];
  Ticket* const ticket = job.tickets[taken_++].get();
  if (taken_ == job.cut) {
    ++open_;
    taken_ = 0;
  }
  return ticket;
}

void BatchLine::finish(Job& job) {
  job.done = true;
  ++done_;
  // The finished prefix may grow by more than this batch.
  for (auto at = static_cast<std::size_t>(finished_ - jobs_.front()->number); at < jobs_.size() && jobs_[at]->done;
       ++at)
    ++finished_;
}

std::unique_ptr<Job> BatchLine::pop() {
  std::unique_ptr<Job> job = std::move(jobs_.front());
  jobs_.pop_front();
  --done_;
  --open_;
  return job;
}

void BatchLine::recycle(std::unique_ptr<Job> job, std::size_t max) {
  job->content.reset();
  job->fixed.reset();
  job->error.reset();
  job->done = false;
  spare_.give(std::move(job), max);
}

void BatchLine::clear() {
  jobs_.clear();
  spare_.clear();
  open_ = taken_ = tickets_ = done_ = 0;
}

}  // namespace forebay::engine
