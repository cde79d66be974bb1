// SPDX-License-Identifier: Apache-2.0
#include "stores/services/credentials.h"

#include <chrono>
#include <exception>
#include <utility>

#include <fmt/core.h>

#include "stores/services/metadata.h"
#include "stores/services/profile.h"

namespace forebay::stores::http {

namespace {

constexpr std::chrono::minutes ahead{5};  // of the end of credentials, others are asked for

/// In whole seconds: nanoseconds end in the year 2262.
bool ends_within(const S3Credentials& credentials, std::chrono::seconds time) {
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  return credentials.expires && *credentials.expires <= now + time;
}

std::optional<S3Credentials> of_environment() {
  S3Credentials out{.key = from_environment("AWS_ACCESS_KEY_ID"),
                    .secret = from_environment("AWS_SECRET_ACCESS_KEY"),
                    .token = from_environment("AWS_SESSION_TOKEN"),
                    .source = "the environment"};
  if (out.key.empty() || out.secret.empty()) return std::nullopt;
  return out;
}

std::optional<S3Credentials> of_profile(const Profile& profile) {
  S3Credentials out{.key = profile.get("aws_access_key_id"),
                    .secret = profile.get("aws_secret_access_key"),
                    .token = profile.get("aws_session_token"),
                    .source = fmt::format("the profile \"{}\"", profile.name())};
  if (out.key.empty() || out.secret.empty()) return std::nullopt;
  return out;
}

}  // namespace

Result<S3Credentials> look_for_credentials(const S3Options& options, const Library& library) {
  if (options.credentials) return options.credentials();
  std::string tried;
  const auto note = [&](const std::string& what) { tried += (tried.empty() ? "" : "; ") + what; };
  if (options.profile.empty()) {
    if (auto found = of_environment()) return *std::move(found);
    note("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set");
  }
  const std::string named = options.profile.empty() ? from_environment("AWS_PROFILE") : options.profile;
  const Profile profile{named.empty() ? "default" : named};
  if (auto found = of_profile(profile)) return *std::move(found);
  note(fmt::format("the profile \"{}\" {}", profile.name(), profile.exists() ? "has no keys" : "does not exist"));
  const auto container = of_container(library);
  if (container.ok()) return *container;
  note(container.error().message());
  if (options.other_credentials) {
    const auto others = options.other_credentials();
    if (others.ok()) return *others;
    note(others.error().message());
  }
  const auto machine = of_machine(library);
  if (machine.ok()) return *machine;
  note(machine.error().message());
  return Error{Code::config, Detail::permission_denied,
               fmt::format("no credentials for s3 were found: {}. For public data, say `anonymous` (or "
                           "AWS_NO_SIGN_REQUEST=YES); those of a role or a login come into the environment by `eval "
                           "\"$(aws configure export-credentials --format env)\"`, or through the package botocore",
                           tried)};
}

void Credentials::when_there(std::function<void()> go, std::function<void(const Error&)> fail) {
  {
    const std::lock_guard lock{mutex_};
    const bool good = now_ && !ends_within(*now_, {});
    if (!good && !stopped_) waiting_.push_back({std::move(go), std::move(fail)});
    if (!good || ends_within(*now_, ahead)) look();
    if (!good && !stopped_) return;
    if (good) fail = nullptr;
  }
  if (fail) return fail({Code::cancelled, "the program ends"});
  go();
}

S3Credentials Credentials::now() {
  const std::lock_guard lock{mutex_};
  return now_.value_or(S3Credentials{});
}

void Credentials::expired(const S3Credentials& used) {
  const std::lock_guard lock{mutex_};
  if (now_ && now_->key == used.key && now_->token == used.token) look();
}

/// Begins to look, with the mutex held.
void Credentials::look() {
  if (looking_ || stopped_) return;
  looking_ = true;
  if (thread_.joinable()) thread_.join();  // it has ended: this is the last that it does with the mutex
  thread_ = std::thread{[this] {
    try {
      tell(source_());
    } catch (const std::exception& problem) {  // of the program's function, or no memory
      tell(Error{Code::io, Detail::none, problem.what()});
    }
  }};
}

/// Tells all that wait, and those that begin to wait meanwhile.
void Credentials::tell(const Result<S3Credentials>& found) {
  while (true) {
    std::vector<Waiting> waiting;
    {
      const std::lock_guard lock{mutex_};
      if (found.ok()) now_ = *found;
      waiting = std::exchange(waiting_, {});
      if (waiting.empty()) {
        looking_ = false;
        return;
      }
    }
    for (const Waiting& one : waiting) {
      if (found.ok()) {
        one.go();
      } else {
        one.fail(found.error());
      }
    }
  }
}

void Credentials::stop() {
  std::thread last;
  {
    const std::lock_guard lock{mutex_};
    stopped_ = true;
    last = std::exchange(thread_, {});
  }
  if (last.joinable()) last.join();
}

}  // namespace forebay::stores::http
