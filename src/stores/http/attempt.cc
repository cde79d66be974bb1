// SPDX-License-Identifier: Apache-2.0
#include "stores/http/attempt.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace forebay::stores::http {

namespace {

constexpr long buffer_bytes = 512L << 10;
constexpr long connect_seconds = 10;
constexpr long slowest_bytes = 1024, slowest_seconds = 10;  // below that rate for so long, a connection has stalled
constexpr std::size_t max_refusal = std::size_t{4} << 10;   // of a refusal, for its reason
constexpr std::size_t max_refused = std::size_t{64} << 10;  // of a body that is not read, to keep the connection

}  // namespace

Attempt::Attempt(const Library& library, const Manner& manner, std::shared_ptr<Job> job, bool hedge,
                 Clock::time_point now)
    : library_{library}, job_{std::move(job)}, hedge_{hedge}, began_{now}, handle_{library.easy_init()} {
  out_ = job_->call->out();
  if (hedge_) {
    own_.resize(out_.size());
    out_ = own_;
  }
  if (handle_ != nullptr) set_up(manner);
}

Attempt::~Attempt() {
  if (handle_ != nullptr) library_.easy_cleanup(handle_);
  library_.slist_free_all(headers_);
}

template <class T>
void Attempt::set(CURLoption option, T value) {
  static_cast<void>(library_.easy_setopt(handle_, option, value));
}

void Attempt::set_up(const Manner& manner) {
  const Ask ask = job_->call->ask();
  set(CURLOPT_URL, ask.url.c_str());
  set(CURLOPT_PRIVATE, this);
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_ERRORBUFFER, problem_.data());
  set(CURLOPT_PROTOCOLS, static_cast<long>(CURLPROTO_HTTP | CURLPROTO_HTTPS));
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));  // one connection for each range is faster
  set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));  // and newer
  set(CURLOPT_FOLLOWLOCATION, 0L);  // HttpFiles follows, and decides what may be followed
  set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  set(CURLOPT_BUFFERSIZE, buffer_bytes);
  set(CURLOPT_CONNECTTIMEOUT, connect_seconds);
  set(CURLOPT_LOW_SPEED_LIMIT, slowest_bytes);
  set(CURLOPT_LOW_SPEED_TIME, std::min(slowest_seconds, std::max(1L, static_cast<long>(manner.deadline.count()))));
  set(CURLOPT_TCP_NODELAY, 1L);
  set(CURLOPT_TCP_KEEPALIVE, 1L);
  set(CURLOPT_USERAGENT, "forebay");
  set(CURLOPT_HEADERFUNCTION, &Attempt::on_head);
  set(CURLOPT_HEADERDATA, this);
  set(CURLOPT_WRITEFUNCTION, &Attempt::on_body);
  set(CURLOPT_WRITEDATA, this);
  if (!manner.ca_file.empty()) set(CURLOPT_CAINFO, manner.ca_file.c_str());
  if (ask.head) set(CURLOPT_NOBODY, 1L);
  if (ask.first >= 0) set(CURLOPT_RANGE, (std::to_string(ask.first) + "-" + std::to_string(ask.last)).c_str());
  if (!ask.sign.empty()) set(CURLOPT_AWS_SIGV4, ask.sign.c_str());
  if (!ask.user.empty() || !ask.password.empty()) {
    if (ask.sign.empty()) set(CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BASIC));
    set(CURLOPT_USERNAME, ask.user.c_str());
    set(CURLOPT_PASSWORD, ask.password.c_str());
  }
  if (job_->fresh || hedge_) set(CURLOPT_FRESH_CONNECT, 1L);
  for (const std::string& header : ask.headers) {
    curl_slist* const longer = library_.slist_append(headers_, header.c_str());
    if (longer != nullptr) headers_ = longer;
  }
  set(CURLOPT_HTTPHEADER, headers_);
}

// libcurl calls these, so no exception may leave them: without memory the attempt ends, and is made again.
std::size_t Attempt::on_head(char* bytes, std::size_t size, std::size_t count, void* self) noexcept try {
  return static_cast<Attempt*>(self)->reply_.add({bytes, size * count}) ? size * count : 0;
} catch (const std::bad_alloc&) {
  return 0;
}

std::size_t Attempt::on_body(char* bytes, std::size_t size, std::size_t count, void* self) noexcept try {
  return static_cast<Attempt*>(self)->take({bytes, size * count}) ? size * count : 0;
} catch (const std::bad_alloc&) {
  return 0;
}

/// False: no more is read.
bool Attempt::take(std::span<const char> bytes) {
  if (!first_byte_) first_byte_ = Clock::now();
  traffic_ += bytes.size();
  if (!takes_) takes_ = job_->call->takes_body(reply_);
  if (!*takes_) {
    refused_ += bytes.size();
    refusal_.append(bytes.data(), std::min(bytes.size(), max_refusal - std::min(max_refusal, refusal_.size())));
    return refused_ <= max_refused && reply_.status() >= 300;
  }
  const std::size_t count = std::min(bytes.size(), out_.size() - bytes_);
  if (count > 0) std::memcpy(out_.data() + bytes_, bytes.data(), count);
  bytes_ += count;
  return count == bytes.size();
}

void Attempt::put() const {
  if (hedge_ && bytes_ > 0) std::memcpy(job_->call->out().data(), own_.data(), bytes_);
}

Came Attempt::came(CURLcode code) {
  const char* location = nullptr;
  static_cast<void>(library_.easy_getinfo(handle_, CURLINFO_REDIRECT_URL, &location));
  const char* const said = problem_[0] != '\0' ? problem_.data() : library_.easy_strerror(code);
  const bool ours = code == CURLE_WRITE_ERROR && takes_.has_value();  // `take` has ended it
  return {.code = ours ? CURLE_OK : code,
          .problem = said,
          .reply = std::move(reply_),
          .bytes = bytes_,
          .whole = code == CURLE_OK || (ours && bytes_ == out_.size()),
          .location = location == nullptr ? std::string{} : std::string{location},
          .refusal = std::move(refusal_)};
}

}  // namespace forebay::stores::http
