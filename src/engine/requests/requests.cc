// SPDX-License-Identifier: Apache-2.0
#include "engine/requests/requests.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "engine/memory/catch_all.h"
#include "engine/requests/answer_fault.h"

namespace forebay::engine {

namespace {

constexpr std::chrono::milliseconds between_looks{20};  // a waiting thread looks for a stop

}  // namespace

Requests::Requests(std::shared_ptr<BufferPool> pool, std::int64_t max_requests, std::function<void()> wake)
    : pool_{std::move(pool)}, window_{std::make_shared<RequestWindow>(pool_, max_requests)}, wake_{std::move(wake)} {}

std::shared_ptr<Request> Requests::ask(std::shared_ptr<const RequestTarget> target, io::ByteRange range, bool urgent) {
  auto request = std::make_shared<Request>(std::move(target), range, Request::Kind::read);
  const RequestTarget& of = *request->target_;
  if (cache_ && of.version.version != 0) request->use_ = cache_->use_of(of.file, of.version.size, range, of.keeping);
  return enter(std::move(request), urgent);
}

std::shared_ptr<Request> Requests::find(FileSystem& system, const std::string& path, std::int64_t first) {
  auto target = std::make_shared<RequestTarget>(RequestTarget{.system = &system, .path = path});
  const io::ByteRange range{.offset = 0, .bytes = first};
  auto request = std::make_shared<Request>(std::move(target), range, Request::Kind::find);
  const auto again = [self = weak_from_this(), waiting = std::weak_ptr{request}] {
    const auto requests = self.lock();
    if (auto wanted = waiting.lock(); requests && wanted) requests->find_known(std::move(wanted), true);
  };
  if (!known_ || !known_->call_when_checked(path, again)) find_known(request, false);
  return request;
}

/// Takes the version of a file that is known, and else asks for it.
void Requests::find_known(std::shared_ptr<Request> request, bool waited) {
  const auto known = known_ ? known_->find(request->target_->path) : std::nullopt;
  if (!known) {
    const bool urgent = request->range_.bytes == 0;
    enter(std::move(request), urgent);
    return;
  }
  request->found_ = *known;
  if (waited) return answered(*request);
  request->ready_.store(true, std::memory_order_release);
}

std::shared_ptr<Request> Requests::enter(std::shared_ptr<Request> request, bool urgent) {
  {
    const Lock lock{mutex_};
    if (urgent) {
      waiting_.push_front(request);
    } else {
      waiting_.push_back(request);
    }
  }
  begin_waiting();
  return request;
}

/// Begins requests while fewer than the maximum are in flight. An answer may come before `begin` returns; the thread
/// that is here then begins the next one, so that no call is nested in another.
void Requests::begin_waiting() {
  {
    const Lock lock{mutex_};
    if (std::exchange(beginning_, true)) return;
  }
  while (const auto request = next()) begin(request);
}

/// Null: nothing may begin, and another thread may enter `begin_waiting`.
std::shared_ptr<Request> Requests::next() {
  const Lock lock{mutex_};
  while (!stopped_ && std::ssize(in_flight_) < max_requests() && !waiting_.empty()) {
    auto request = waiting_.front().lock();
    waiting_.pop_front();
    if (!request) continue;  // nobody needs it any more
    if (!request->use_) ++(request->kind_ == Request::Kind::read ? counts_.reads : counts_.finds);
    request->number_ = begun_++;
    request->began_ = std::chrono::steady_clock::now();
    in_flight_.emplace(request->number_, request);
    return request;
  }
  beginning_ = false;
  return nullptr;
}

void Requests::begin(const std::shared_ptr<Request>& request) {
  auto thrown = catch_all(
      [&] {
        if (request->kind_ == Request::Kind::read) return begin_read(request);
        begin_find(request);
      },
      no_memory_for_scan);
  if (!thrown) return;
  request->error_ = std::move(thrown);
  answered(*request);
}

void Requests::begin_find(const std::shared_ptr<Request>& request) {
  const auto size = static_cast<std::size_t>(request->range_.bytes);
  const RequestTarget& target = *request->target_;
  const auto answer = [self = shared_from_this(), request, size](const Result<FileBeginning>& begun) {
    if (!begun.ok()) {
      request->error_ = begun.error();
      return self->answered(*request);
    }
    request->found_ = {.size = begun->version.size, .version = begun->version.version};
    const std::size_t there = std::min(size, static_cast<std::size_t>(std::max<std::int64_t>(begun->version.size, 0)));
    if (there > 0) request->error_ = answer_fault(begun->bytes, there);
    if (there > 0 && !request->error_) request->got_ = begun->bytes;
    request->last_ = static_cast<std::int64_t>(request->got_);
    if (self->known_) self->known_->add(request->target_->path, request->found_);
    self->answered(*request);
  };
  if (size == 0) {
    return target.system->find(target.path, [answer](const Result<FileVersion>& found) {
      if (!found.ok()) return answer(found.error());
      answer(FileBeginning{.version = *found});
    });
  }
  request->memory_ = pool_->lend(size, MemoryUse::scan);
  target.system->find_and_read({.path = target.path,
                                .version = {},
                                .out = {request->memory_.get(), size},
                                .memory = request->memory_,
                                .wanted = wanted_,
                                .traffic = traffic_},
                               answer);
}

void Requests::begin_read(const std::shared_ptr<Request>& request) {
  const auto size = static_cast<std::size_t>(request->range_.bytes);
  if (!request->memory_) request->memory_ = pool_->lend(size, MemoryUse::scan);
  const RequestTarget& target = *request->target_;
  ReadRequest read{.path = target.path,
                   .version = {.size = target.version.size, .version = target.version.version},
                   .offset = request->range_.offset + static_cast<std::int64_t>(request->got_),
                   .out = {request->memory_.get() + request->got_, size - request->got_},
                   .memory = request->memory_,
                   .wanted = wanted_,
                   .traffic = traffic_};
  auto answer = [self = shared_from_this(), request](const auto& count) { self->came(request, count); };
  if (request->use_) return cache_->read(*target.system, std::move(read), request->use_, std::move(answer));
  target.system->read(std::move(read), std::move(answer));
}

/// Takes the bytes of an answer. When bytes are missing, the request waits for its turn again, before all others.
void Requests::came(const std::shared_ptr<Request>& request, const Result<std::size_t>& count) {
  const std::size_t left = static_cast<std::size_t>(request->range_.bytes) - request->got_;
  request->error_ = answer_fault(count, left);
  if (request->error_) return answered(*request);
  request->last_ = static_cast<std::int64_t>(*count);
  request->got_ += *count;
  if (*count == left) return answered(*request);
  request->error_ = catch_all(
      [&] {
        const Lock lock{mutex_};
        counts_.bytes_used += static_cast<std::int64_t>(*count);
        waiting_.push_front(request);
        in_flight_.erase(request->number_);
      },
      no_memory_for_scan);
  if (request->error_) return answered(*request);
  begin_waiting();
}

void Requests::answered(Request& request) {
  request.ready_.store(true, std::memory_order_release);
  bool wakes = false;
  {
    const Lock lock{mutex_};
    if (!request.error_) counts_.bytes_used += request.last_;
    in_flight_.erase(request.number_);
    wakes = !stopped_ && wake_;
    if (wakes) ++waking_;
    answered_.notify_all();
  }
  begin_waiting();
  if (!wakes) return;
  wake_();
  const Lock lock{mutex_};
  if (--waking_ == 0) answered_.notify_all();
}

void Requests::wait(const Request& request, std::optional<std::chrono::steady_clock::time_point> deadline) {
  while (!request.ready()) {
    pool_->look();
    if (go_on_ && !go_on_()) throw Closed{};
    const auto now = std::chrono::steady_clock::now();
    if (deadline && now >= *deadline) return;
    const auto until = std::min(deadline.value_or(now + between_looks), now + between_looks);
    const Lock lock{mutex_};
    if (stopped_) throw Closed{};
    while (!request.ready() && answered_.wait_until(mutex_, until)) continue;
  }
}

RequestStats Requests::counts() const {
  const Lock lock{mutex_};
  RequestStats out = counts_;
  out.in_flight = std::ssize(in_flight_);
  out.waiting = std::ssize(waiting_);
  traffic_->add_to(out);
  return out;
}

std::string Requests::oldest() const {
  const Lock lock{mutex_};
  if (in_flight_.empty()) return {};
  const Request& request = *in_flight_.begin()->second;
  const io::ByteRange range = request.range_;
  const std::string what =
      range.bytes > 0 ? fmt::format("bytes {} to {} of", range.offset, range.end() - 1) : std::string{"the version of"};
  std::string out =
      fmt::format("{} {} was asked for {:.1f} s ago", what, request.target_->path,
                  std::chrono::duration<double>(std::chrono::steady_clock::now() - request.began_).count());
  if (const std::string trouble = traffic_->last_trouble(); !trouble.empty()) out += "; the last fault: " + trouble;
  return out;
}

void Requests::stop() {
  const Lock lock{mutex_};
  stopped_ = true;
  window_->close();
  running_.reset();
  waiting_.clear();
  answered_.notify_all();
  while (waking_ > 0) answered_.wait(mutex_);
}

}  // namespace forebay::engine
