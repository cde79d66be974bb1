// SPDX-License-Identifier: Apache-2.0
#include "stores/http/transfers.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <list>
#include <mutex>
#include <new>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <unistd.h>

#include "base/draw.h"
#include "stores/http/attempt.h"
#include "stores/http/exits.h"
#include "stores/http/queue.h"

namespace forebay::stores::http {

namespace {

constexpr std::size_t max_loops = 4;
constexpr double bytes_a_loop = .6e9;                   // a second; above that rate another thread helps
constexpr std::chrono::milliseconds between_looks{50};  // for calls that nobody wants, and for slow ones
constexpr std::int64_t max_tries = 10;
constexpr double longest_wait = 20, first_wait = .1;  // seconds, before a try
constexpr std::int64_t longest_asked = 60;            // the same, as servers ask for it

double seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

Clock::duration in_seconds(double time) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(time));
}

/// Random times to wait. They decide nothing about the stream.
class Jitter {
 public:
  double up_to(double limit) { return limit * static_cast<double>((state_ = mix(state_)) >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_ =
      static_cast<std::uint64_t>(Clock::now().time_since_epoch().count()) ^ mix(static_cast<std::uint64_t>(getpid()));
};

// Made at the start of the program, as an error cannot be made without memory.
const Error no_memory{Code::io, Detail::resource_exhausted,
                      "the machine has no memory left for requests to other machines; lower `memory`"};

Error ended() { return {Code::cancelled, "the program ends"}; }

}  // namespace

class Transfers::Loop {
 public:
  Loop(Shared& shared, const Library& library, const Manner& manner)
      : shared_{shared}, library_{library}, manner_{manner}, multi_{library.multi_init()} {}
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  void start() {
    thread_ = std::thread{[this] { run(); }};
  }
  void wake() { static_cast<void>(library_.multi_wakeup(multi_)); }
  void join() { thread_.join(); }
  [[nodiscard]] std::int64_t active() const { return active_.load(std::memory_order_relaxed); }

 private:
  using Attempts = std::list<std::unique_ptr<Attempt>>;
  void run();
  void turn();
  void fail_all(const Error& why);
  void begin_jobs();
  void begin(std::shared_ptr<Job> job, bool hedge);
  void take_ended();
  void end(Attempt& attempt, CURLcode code);
  void later(const std::shared_ptr<Job>& job, Later step, Clock::time_point now);
  void drop(const Job& job);
  void count(Attempt& attempt);
  std::unique_ptr<Attempt> remove(const Attempt& attempt);
  void look(Clock::time_point now);
  void measure(Clock::time_point now);
  [[nodiscard]] int wait_ms(Clock::time_point now);

  Shared& shared_;
  const Library& library_;
  const Manner& manner_;
  CURLM* const multi_;
  Attempts attempts_;
  std::atomic<std::int64_t> active_{0};
  Jitter jitter_;
  Clock::time_point looked_{}, measured_ = Clock::now();
  double traffic_ = 0;  // bytes since `measured_`
  std::thread thread_;
};

class Transfers::Shared final : public Stops {
 public:
  Shared(const Library& library, Manner manner)
      : library_{library}, manner_{std::move(manner)}, queue_{manner_.connections} {}
  void begin(std::unique_ptr<Call> call);
  void add_loop();
  void stop() override;
  [[nodiscard]] bool stopped() const { return stopped_.load(std::memory_order_acquire); }
  [[nodiscard]] JobQueue& queue() { return queue_; }

 private:
  const Library& library_;
  const Manner manner_;
  JobQueue queue_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Loop>> loops_;
  std::atomic<bool> stopped_{false};
};

void Transfers::Shared::add_loop() {
  const std::lock_guard lock{mutex_};
  if (loops_.size() == max_loops || stopped()) return;
  loops_.push_back(std::make_unique<Loop>(*this, library_, manner_));
  loops_.back()->start();
}

void Transfers::Shared::begin(std::unique_ptr<Call> call) {
  const auto now = Clock::now();
  const auto job = std::make_shared<Job>(Job{.call = std::move(call), .since = now});
  {
    const std::lock_guard lock{mutex_};
    if (!stopped()) {
      if (loops_.empty()) {
        loops_.push_back(std::make_unique<Loop>(*this, library_, manner_));
        loops_.back()->start();
      }
      queue_.add(job, now);
      const auto idlest = std::ranges::min_element(loops_, {}, [](const auto& loop) { return loop->active(); });
      return (*idlest)->wake();
    }
  }
  job->call->fail(ended());
}

void Transfers::Shared::stop() {
  {
    const std::lock_guard lock{mutex_};
    stopped_.store(true, std::memory_order_release);
    for (const auto& loop : loops_) loop->wake();
  }
  for (const auto& loop : loops_) loop->join();
  for (const auto& job : queue_.take_all()) job->call->fail(ended());
  loops_.clear();
}

Transfers::Loop::~Loop() { static_cast<void>(library_.multi_cleanup(multi_)); }

void Transfers::Loop::run() {
  while (!shared_.stopped()) {
    try {
      turn();
    } catch (const std::bad_alloc&) {
      fail_all(no_memory);
    }
  }
  fail_all(ended());
}

void Transfers::Loop::turn() {
  begin_jobs();
  int running = 0;
  static_cast<void>(library_.multi_perform(multi_, &running));
  take_ended();
  const auto now = Clock::now();
  if (now - looked_ >= between_looks) look(now);
  static_cast<void>(library_.multi_poll(multi_, nullptr, 0, wait_ms(now), nullptr));
}

void Transfers::Loop::fail_all(const Error& why) {
  while (!attempts_.empty()) {
    const auto job = attempts_.front()->job();
    drop(*job);
    job->call->fail(why);
  }
}

/// Until there is something to look for; a new call wakes it before.
int Transfers::Loop::wait_ms(Clock::time_point now) {
  constexpr int for_ever = 60'000;
  const auto next = shared_.queue().next_time();
  const int waits = next ? static_cast<int>(std::clamp(std::ceil(seconds(*next - now) * 1000), 0., 60'000.)) : for_ever;
  return std::min<int>(waits, attempts_.empty() && !next ? for_ever : static_cast<int>(between_looks.count()));
}

void Transfers::Loop::begin_jobs() {
  while (auto job = shared_.queue().next(Clock::now())) begin(std::move(job), false);
}

/// The job counts as begun.
void Transfers::Loop::begin(std::shared_ptr<Job> job, bool hedge) {
  const auto now = Clock::now();
  ++job->attempts;
  auto attempt = std::make_unique<Attempt>(library_, manner_, std::move(job), hedge, now);
  Attempt& begun = *attempt;
  attempts_.push_back(std::move(attempt));
  active_.fetch_add(1, std::memory_order_relaxed);
  if (begun.handle() == nullptr || library_.multi_add_handle(multi_, begun.handle()) != CURLM_OK)
    end(begun, CURLE_OUT_OF_MEMORY);
}

void Transfers::Loop::take_ended() {
  int left = 0;
  while (const CURLMsg* const message = library_.multi_info_read(multi_, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    Attempt* attempt = nullptr;
    const CURLcode code = message->data.result;
    static_cast<void>(library_.easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &attempt));
    if (attempt != nullptr) end(*attempt, code);
    begin_jobs();
  }
}

std::unique_ptr<Attempt> Transfers::Loop::remove(const Attempt& attempt) {
  const auto at = std::ranges::find(attempts_, &attempt, [](const auto& each) { return each.get(); });
  auto out = std::move(*at);
  attempts_.erase(at);
  active_.fetch_sub(1, std::memory_order_relaxed);
  if (out->handle() != nullptr) static_cast<void>(library_.multi_remove_handle(multi_, out->handle()));
  count(*out);
  --out->job()->attempts;
  return out;
}

/// Counts what has come of an attempt since the last look.
void Transfers::Loop::count(Attempt& attempt) {
  const std::size_t bytes = attempt.take_traffic();
  traffic_ += static_cast<double>(bytes);
  if (Traffic* const traffic = attempt.job()->call->traffic()) traffic->fetched(static_cast<std::int64_t>(bytes));
}

/// Ends the attempts of a job that is over.
void Transfers::Loop::drop(const Job& job) {
  const auto now = Clock::now();
  while (true) {
    const auto other = std::ranges::find(attempts_, &job, [](const auto& each) { return each->job().get(); });
    if (other == attempts_.end()) return;
    const auto removed = remove(**other);
    shared_.queue().ended(*job.call, removed->began(), now, false, false);
  }
}

void Transfers::Loop::end(Attempt& attempt, CURLcode code) {
  const auto removed = remove(attempt);
  const auto now = Clock::now();
  const std::shared_ptr<Job>& job = removed->job();
  JobQueue& queue = shared_.queue();
  Came came = removed->came(code);
  const bool good = came.whole && came.reply.status() < 300;
  if (job->attempts > 0 && !good) return queue.ended(*job->call, removed->began(), now, true, false);
  const bool served = came.whole && came.bytes > 0;
  if (served) {
    const double took = std::max(1e-6, seconds(now - removed->began()));
    const double first = seconds(removed->first_byte().value_or(now) - removed->began());
    queue.served(*job->call, first, static_cast<double>(came.bytes) / took);
  }
  if (Traffic* const traffic = job->call->traffic(); traffic != nullptr && removed->is_hedge() && served)
    traffic->hedge_won();
  drop(*job);  // the other one of a hedge
  removed->put();
  Step step = job->call->next(came);
  const Later* const again = std::get_if<Later>(&step);
  queue.ended(*job->call, removed->began(), now, again != nullptr, again != nullptr && again->slower);
  job->fresh = came.code != CURLE_OK;
  job->hedged = false;
  if (again != nullptr) return later(job, *std::move(again), now);
  if (std::holds_alternative<AtOnce>(step)) queue.add(job, now);
}

void Transfers::Loop::later(const std::shared_ptr<Job>& job, Later step, Clock::time_point now) {
  ++job->tries;
  if (Traffic* const traffic = job->call->traffic())
    traffic->tried(step.trouble, fmt::format("{} (try {})", step.error.message(), job->tries));
  JobQueue& queue = shared_.queue();
  const double waited = seconds(now - job->since);
  const double most = std::min(longest_wait, first_wait * std::exp2(static_cast<double>(job->tries - 1)));
  const double wait = step.after >= 0 ? static_cast<double>(std::min(step.after, longest_asked)) : jitter_.up_to(most);
  const bool hopeless = job->tries >= max_tries && !queue.out_of_order(*job->call);
  if (hopeless || waited + wait > static_cast<double>(manner_.deadline.count())) {
    const Error& why = step.error;
    return job->call->fail({why.code(), why.detail(),
                            fmt::format("{} (tried {} time{} in {:.0f} s)", why.message(), job->tries,
                                        job->tries == 1 ? "" : "s", waited)});
  }
  queue.add(job, now + in_seconds(wait));
}

/// Drops what nobody wants, and asks a second time for what is slow.
void Transfers::Loop::look(Clock::time_point now) {
  looked_ = now;
  for (const auto& job : shared_.queue().unwanted()) job->call->fail(ended());
  std::vector<std::shared_ptr<Job>> unwanted, slow;
  for (const auto& attempt : attempts_) {
    count(*attempt);
    const std::shared_ptr<Job>& job = attempt->job();
    if (!job->call->wanted()) {
      unwanted.push_back(job);
    } else if (!job->hedged && !job->call->out().empty()) {
      const double age = seconds(now - attempt->began());
      const double rate = static_cast<double>(attempt->bytes()) / std::max(1e-6, age);
      if (shared_.queue().hedge(*job->call, age, rate, !attempt->first_byte(), now)) slow.push_back(job);
    }
  }
  for (const auto& job : unwanted) {
    if (job->attempts == 0) continue;
    drop(*job);
    job->call->fail(ended());
  }
  for (const auto& job : slow) {
    job->hedged = true;
    if (Traffic* const traffic = job->call->traffic()) traffic->hedged();
    begin(job, true);
  }
  measure(now);
}

void Transfers::Loop::measure(Clock::time_point now) {
  const double span = seconds(now - measured_);
  if (span < .5) return;
  if (traffic_ / span > bytes_a_loop) shared_.add_loop();
  measured_ = now;
  traffic_ = 0;
}

Transfers::Transfers(const Library& library, Manner manner)
    : shared_{std::make_shared<Shared>(library, std::move(manner))} {
  stop_at_exit(shared_);
}

Transfers::~Transfers() { shared_->stop(); }

void Transfers::begin(std::unique_ptr<Call> call) { shared_->begin(std::move(call)); }

}  // namespace forebay::stores::http
