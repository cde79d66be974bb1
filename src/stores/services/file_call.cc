// SPDX-License-Identifier: Apache-2.0
#include "stores/services/file_call.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

namespace forebay::stores::http {

namespace {

constexpr int max_redirects = 5;

std::string status_of(const Reply& reply) {
  std::string out = fmt::format("{}", reply.status());
  if (!reply.reason().empty()) out += fmt::format(" {}", reply.reason());
  if (!reply.request_id().empty()) out += fmt::format(", request {}", reply.request_id());
  return out;
}

bool is_fault_of_the_server(int status) {
  return status == 408 || status == 425 || status == 429 || status == 500 || (status >= 502 && status <= 504);
}

/// The connection could not be made, or broke.
bool may_be_better_later(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_PARTIAL_FILE:
    case CURLE_OUT_OF_MEMORY:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_UNSUPPORTED_PROTOCOL:  // what came is not http, or the end of an answer before
    case CURLE_WEIRD_SERVER_REPLY:
      return true;
    default:
      return false;
  }
}

}  // namespace

void Versions::remember(const std::string& path, const std::string& etag, const std::string& last_modified) {
  Told told{.version = version_of(etag.empty() ? last_modified : etag), .condition = {}};
  if (!etag.empty()) {
    if (!etag.starts_with("W/")) told.condition = "If-Match: " + etag;  // which compares strongly
  } else if (!last_modified.empty()) {
    told.condition = "If-Unmodified-Since: " + last_modified;
  }
  const std::lock_guard lock{mutex_};
  told_.insert_or_assign(path, std::move(told));
}

std::string Versions::condition(const std::string& path, std::uint64_t version) {
  const std::lock_guard lock{mutex_};
  const auto told = told_.find(path);
  return told == told_.end() || told->second.version != version ? std::string{} : told->second.condition;
}

Result<void> check_allowed(const Address& address, const Manners& manners) {
  if (address.metadata)
    return Error{
        Code::config, Detail::permission_denied,
        fmt::format("'{}': this service gives the credentials of the machine and no files", shown(address.url))};
  if (address.secure || address.loopback || manners.allow_http) return {};
  return Error{Code::config, Detail::permission_denied,
               fmt::format("'{}': without TLS, anyone on the way can read the bytes and change them; say https://, or "
                           "allow it with FOREBAY_ALLOW_HTTP=1 in the environment (allow_http of http_files)",
                           shown(address.url))};
}

FileCall::FileCall(std::shared_ptr<Means> means, std::string path, Address address)
    : means_{std::move(means)}, path_{std::move(path)}, address_{std::move(address)}, home_{address_.origin} {}

Error FileCall::about(Code code, Detail detail, std::string_view what) const {
  return {code, detail, fmt::format("cannot {}: {}", attempt(), what)};
}

Answered FileCall::failed(Code code, Detail detail, std::string_view what) {
  fail(about(code, detail, what));
  return {};
}

Ask FileCall::ask() const {
  Ask out{.url = address_.url};
  out.headers = {"Accept-Encoding: identity"};
  complete(out);
  if (away()) return out;
  out.user = address_.user;
  out.password = address_.password;
  means_->service->sign(out, path_);
  return out;
}

bool FileCall::is_recoded(const Reply& reply) const {
  const std::string& encoding = reply.encoding();
  if (encoding.empty()) return false;
  const std::string file = path_.substr(0, path_.find('?'));
  const bool own = (encoding == "gzip" || encoding == "x-gzip") && (file.ends_with(".gz") || file.ends_with(".tgz"));
  return !own;
}

Step FileCall::next(const Came& came) {
  if (came.code != CURLE_OK) return broken(came);
  const int status = came.reply.status();
  if (came.reply.contradicts_itself())
    return failed(Code::data, Detail::data_loss, "the server gives two lengths, ranges or versions in one answer");
  std::string said = "the server answered " + status_of(came.reply);
  const std::size_t answered = said.size();
  if (status >= 300) {
    if (auto step = refused(came, said)) return *std::move(step);
  }
  if (status == 301 || status == 302 || status == 303 || status == 307 || status == 308) return redirected(came);
  if (status == 200 || status == 206 || status == 412 || status == 416) return judge(came);
  if (is_fault_of_the_server(status)) {
    const bool slower = status == 429 || status == 503;
    return Later{about(Code::io, Detail::none, said), slower ? Traffic::Trouble::refused : Traffic::Trouble::failed,
                 came.reply.retry_after(), slower};
  }
  if (asks_otherwise()) return AtOnce{};
  if (status == 404 || status == 410) {
    const Error error = gone();
    fail({error.code(), error.detail(), error.message() + said.substr(answered)});
    return Answered{};
  }
  if (status == 401 || status == 403 || status == 407)
    return failed(Code::io, Detail::permission_denied, "it may not be read: " + said);
  return failed(Code::io, Detail::none, said);
}

/// Asks the service, which knows its own refusals, and adds what it says to `said`. None: it knows nothing to do.
std::optional<Step> FileCall::refused(const Came& came, std::string& said) {
  constexpr int max_anew = 3;
  const Service::Refusal refusal = means_->service->refusal(came, path_);
  if (!refusal.what.empty()) said += ": " + refusal.what;
  if (refusal.later)
    return Later{about(Code::io, Detail::none, said),
                 refusal.slower ? Traffic::Trouble::refused : Traffic::Trouble::failed, came.reply.retry_after(),
                 refusal.slower};
  if (!refusal.at_once || ++anew_ > max_anew) return std::nullopt;
  auto address = means_->service->address(path_);
  if (!address.ok()) return std::nullopt;
  address_ = *std::move(address);
  home_ = address_.origin;
  return AtOnce{};
}

Step FileCall::redirected(const Came& came) {
  if (came.location.empty()) return failed(Code::io, Detail::none, "the server redirects to nowhere");
  if (++redirects_ > max_redirects)
    return failed(Code::io, Detail::none, fmt::format("the server redirects more than {} times", max_redirects));
  auto there = Address::of(means_->library, came.location);
  if (!there.ok()) return failed(Code::io, Detail::none, "the server redirects to no address of http or https");
  if (address_.secure && !there->secure)
    return failed(Code::io, Detail::permission_denied,
                  fmt::format("the server redirects from https to '{}'", shown(came.location)));
  if (const auto allowed = check_allowed(*there, means_->manners); !allowed.ok())
    return failed(Code::io, Detail::permission_denied, "the server redirects: " + allowed.error().message());
  address_ = *std::move(there);
  return AtOnce{};
}

Step FileCall::broken(const Came& came) {
  const auto trouble = came.code == CURLE_OPERATION_TIMEDOUT ? Traffic::Trouble::stalled : Traffic::Trouble::broken;
  const Error error = about(Code::io, Detail::none, came.problem);
  if (keep(came)) {
    if (traffic() != nullptr) traffic()->tried(trouble, error.message());
    return Answered{};
  }
  if (may_be_better_later(came.code)) return Later{error, trouble};
  switch (came.code) {
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_CERTPROBLEM:
      return failed(
          Code::io, Detail::permission_denied,
          fmt::format(
              "the certificate of the server is not trusted: {}; trusted are those of {}", came.problem,
              means_->manners.ca_file.empty() ? "no file, as none was found" : "'" + means_->manners.ca_file + "'"));
    case CURLE_SSL_CACERT_BADFILE:
      return failed(Code::io, Detail::permission_denied,
                    fmt::format("the certificates in '{}' cannot be read; ca_file or SSL_CERT_FILE names others",
                                means_->manners.ca_file));
    default:
      return failed(Code::io, Detail::none, came.problem);
  }
}

FindCall::FindCall(std::shared_ptr<Means> means, Address address, ReadRequest request, FileSystem::Begun begun)
    : FileCall{std::move(means), request.path, std::move(address)},
      request_{std::move(request)},
      begun_{std::move(begun)},
      head_{request_.out.empty() && !this->address().is_signed} {}

bool FindCall::takes_body(const Reply& reply) const {
  if (request_.out.empty()) return reply.status() == 206;
  if (reply.status() == 206) return reply.range() && reply.range()->first == 0;
  return reply.status() == 200 && !is_recoded(reply);
}

void FindCall::complete(Ask& ask) const {
  ask.head = head_;
  if (!head_) ask.first = 0;
  if (!head_) ask.last = std::max<std::int64_t>(std::ssize(request_.out), 1) - 1;
}

/// Some servers serve GET alone.
bool FindCall::asks_otherwise() { return std::exchange(head_, false); }

Error FindCall::gone() const {
  return {Code::io, Detail::not_found, fmt::format("cannot open '{}': there is no such file", path())};
}

Step FindCall::judge(const Came& came) {
  const Reply& reply = came.reply;
  const std::int64_t size = reply.status() == 412 ? -1 : reply.size();
  if (is_recoded(reply) || size < 0) {
    if (asks_otherwise()) return AtOnce{};
    if (is_recoded(reply))
      return failed(Code::data, Detail::data_loss,
                    fmt::format("the server sends it in another form (Content-Encoding: {})", reply.encoding()));
    return failed(Code::io, Detail::none,
                  fmt::format("the server does not say how large it is ({})", status_of(reply)));
  }
  if (reply.status() == 416 && size > 0)
    return failed(Code::io, Detail::none, "the server refuses a range of the file: " + status_of(reply));
  if (came.bytes == 0 && size > 0 && !request_.out.empty())
    return Later{{Code::io, Detail::none, fmt::format("cannot read '{}': the server gives no bytes", path())}};
  means().versions.remember(path(), reply.etag(), reply.last_modified());
  begun_(FileBeginning{.version = {.size = size, .version = reply.version()}, .bytes = came.bytes});
  return Answered{};
}

ReadCall::ReadCall(std::shared_ptr<Means> means, Address address, ReadRequest request, FileSystem::Answer answer)
    : FileCall{std::move(means), request.path, std::move(address)},
      request_{std::move(request)},
      answer_{std::move(answer)},
      last_{std::min(request_.version.size, request_.offset + std::ssize(request_.out)) - 1} {}

std::span<std::byte> ReadCall::out() const {
  return request_.out.first(static_cast<std::size_t>(last_ - request_.offset + 1));
}

void ReadCall::complete(Ask& ask) const {
  ask.first = request_.offset;
  ask.last = last_;
  std::string condition = means().versions.condition(path(), request_.version.version);
  if (!condition.empty()) ask.headers.push_back(std::move(condition));
}

Error ReadCall::gone() const {
  return {Code::data, Detail::failed_precondition, "the file changed while it was read: it is not there any more"};
}

bool ReadCall::is_other_version(const Reply& reply) const {
  const std::int64_t size = reply.size();
  return reply.version() != request_.version.version || (size >= 0 && size != request_.version.size);
}

std::string ReadCall::wrong_with(const Reply& reply) const {
  if (reply.contradicts_itself()) return "two lengths, ranges or versions in one answer";
  if (is_recoded(reply)) return fmt::format("another form of the file (Content-Encoding: {})", reply.encoding());
  if (reply.status() == 200)
    return request_.offset == 0 ? std::string{} : "the whole file instead of a range: it gives no ranges";
  if (reply.status() != 206) return status_of(reply);
  if (!reply.range() || reply.range()->first < 0) return "a part of the file that it does not name";
  if (reply.range()->first != request_.offset || reply.range()->last > last_)
    return fmt::format("bytes {} to {} of the file", reply.range()->first, reply.range()->last);
  return {};
}

Step ReadCall::judge(const Came& came) {
  const Reply& reply = came.reply;
  const int status = reply.status();
  if (status == 412 || status == 416 || (!is_recoded(reply) && is_other_version(reply))) {
    fail({Code::data, Detail::failed_precondition, "the file changed while it was read: its version is another"});
    return Answered{};
  }
  if (const std::string wrong = wrong_with(reply); !wrong.empty())
    return failed(Code::io, Detail::none,
                  fmt::format("asked for the bytes {} to {}, the server gives {}", request_.offset, last_, wrong));
  if (came.bytes == 0)
    return Later{{Code::io, Detail::none, fmt::format("cannot read '{}': the server gives no bytes", path())}};
  answer_(came.bytes);
  return Answered{};
}

/// Bytes that trickle in do not count: a stalled connection would never be an error.
bool ReadCall::keep(const Came& came) {
  constexpr std::size_t enough = std::size_t{10} << 10;
  if (came.bytes == 0 || (came.code == CURLE_OPERATION_TIMEDOUT && came.bytes < enough)) return false;
  if (is_other_version(came.reply) || !wrong_with(came.reply).empty()) return false;
  answer_(came.bytes);
  return true;
}

}  // namespace forebay::stores::http
