// SPDX-License-Identifier: Apache-2.0
#include "stores/services/gs_service.h"

#include <utility>

#include <fmt/core.h>

#include "stores/services/bucket_path.h"
#include "stores/services/list_call.h"
#include "stores/services/list_page.h"
#include "stores/services/metadata.h"
#include "stores/services/profile.h"
#include "stores/services/service_files.h"

namespace forebay::stores::http {

namespace {

std::string endpoint_of(const GsOptions& options) {
  std::string out = options.endpoint.empty() ? from_environment("STORAGE_EMULATOR_HOST") : options.endpoint;
  if (out.empty()) return "https://storage.googleapis.com";
  if (out.find("://") == std::string::npos) out.insert(0, "http://");
  while (out.ends_with('/')) out.pop_back();
  return out;
}

S3Credentials as_credentials(const GsToken& token) {
  return {.key = {}, .secret = {}, .token = token.token, .source = token.source, .expires = token.expires};
}

Result<S3Credentials> look_for_token(const GsOptions& options, const Library& library) {
  if (options.token) {
    FOREBAY_TRY(const GsToken given, options.token());
    return as_credentials(given);
  }
  for (const char* const name : {"GOOGLE_OAUTH_ACCESS_TOKEN", "CLOUDSDK_AUTH_ACCESS_TOKEN"}) {
    if (std::string token = from_environment(name); !token.empty())
      return S3Credentials{.key = {}, .secret = {}, .token = std::move(token), .source = "the environment"};
  }
  std::string tried = "GOOGLE_OAUTH_ACCESS_TOKEN is not set";
  if (options.other_token) {
    const auto other = options.other_token();
    if (other.ok()) return as_credentials(*other);
    tried += "; " + other.error().message();
  }
  auto machine = of_google_machine(library);
  if (machine.ok()) return machine;
  return Error{Code::config, Detail::permission_denied,
               fmt::format("no token for gs was found: {}; {}. For public data, say `anonymous`; that of a login comes "
                           "into the environment by `export GOOGLE_OAUTH_ACCESS_TOKEN=$(gcloud auth "
                           "print-access-token)`, or through the package google-auth",
                           tried, machine.error().message())};
}

}  // namespace

GsService::GsService(const Library& library, GsOptions options)
    : library_{library}, options_{std::move(options)}, endpoint_{endpoint_of(options_)} {}

GsService::Shared& GsService::shared() const {
  return shared_.get([this] {
    auto made = std::make_unique<Shared>();
    made->token = std::make_shared<Credentials>(
        [options = options_, &library = library_] { return look_for_token(options, library); });
    stop_at_exit(made->token);
    return made;
  });
}

/// A token that goes on being refused is wrong, and not old.
bool GsService::was_refused_just_now(const std::string& token) {
  constexpr std::chrono::seconds time_for_another{5};
  Shared& all = shared();
  const auto now = std::chrono::steady_clock::now();
  const std::lock_guard lock{all.mutex};
  if (std::exchange(all.refused, token) != token) all.since = now;
  return now - all.since < time_for_another;
}

Result<Address> GsService::address(const std::string& path) const {
  FOREBAY_TRY(const BucketPath name, BucketPath::checked(path));
  return Address::of(library_, fmt::format("{}/{}/{}", endpoint_, name.bucket, percent_encoded(name.key, "/")));
}

void GsService::sign(Ask& ask, const std::string&) const {
  const auto& headers = options_.http.headers;
  ask.headers.insert(ask.headers.end(), headers.begin(), headers.end());
  if (!options_.project.empty()) ask.headers.push_back("x-goog-user-project: " + options_.project);
  if (!options_.anonymous) ask.headers.push_back("Authorization: Bearer " + token().now().token);
}

Service::Refusal GsService::refusal(const Came& came, const std::string&) {
  const int status = came.reply.status();
  const ServiceError error = ServiceError::of(came.refusal);
  Refusal out;
  if (!error.code.empty())
    out.what = error.message.empty() ? error.code : fmt::format("{} ({})", error.code, error.message);
  out.slower = error.code == "SlowDown";
  out.later = out.slower || error.code == "InternalError" || error.code == "RequestTimeout";
  if (status != 401 && status != 403) return out;
  out.what += out.what.empty() ? "" : ", ";
  if (options_.anonymous) {
    out.what += "without a token";
    return out;
  }
  const S3Credentials used = token().now();
  if (status == 401 && was_refused_just_now(used.token)) {
    token().expired(used);
    out.later = true;
  }
  out.what += "with a token of " + used.source;
  return out;
}

void GsService::when_ready(std::function<void()> go, std::function<void(const Error&)> fail) {
  if (options_.anonymous) return go();
  token().when_there(std::move(go), std::move(fail));
}

}  // namespace forebay::stores::http

namespace forebay {

Result<std::shared_ptr<FileSystem>> gs_files(const GsOptions& options) {
  using namespace stores::http;
  FOREBAY_TRY(const Library* const loaded, library(options.http.library));
  FOREBAY_TRY(Manners manners, manners_of(options.http, *loaded));
  return std::make_shared<ServiceFiles>(*loaded, std::make_shared<GsService>(*loaded, options), std::move(manners));
}

}  // namespace forebay
