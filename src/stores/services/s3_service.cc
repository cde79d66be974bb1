// SPDX-License-Identifier: Apache-2.0
#include "stores/services/s3_service.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "stores/services/bucket_path.h"
#include "stores/services/list_call.h"
#include "stores/services/list_page.h"
#include "stores/services/profile.h"
#include "stores/services/service_files.h"

namespace forebay::stores::http {

namespace {

/// Whether a bucket may be the beginning of the name of a host. Names with dots do not fit the certificates of AWS.
bool is_host(std::string_view bucket) {
  return bucket.size() >= 3 && bucket.size() <= 63 && bucket.front() != '-' && bucket.back() != '-' &&
         std::ranges::all_of(bucket, [](char letter) {
           return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') || letter == '-';
         });
}

std::string first_of(std::initializer_list<std::string> values) {
  for (const std::string& value : values)
    if (!value.empty()) return value;
  return {};
}

Profile profile_of(const S3Options& options) {
  return Profile{first_of({options.profile, from_environment("AWS_PROFILE"), "default"})};
}

std::string endpoint_of(const S3Options& options) {
  std::string out = first_of({options.endpoint, from_environment("AWS_ENDPOINT_URL_S3"),
                              from_environment("AWS_ENDPOINT_URL"), profile_of(options).get("endpoint_url")});
  while (out.ends_with('/')) out.pop_back();
  return out;
}

std::string region_of_options(const S3Options& options) {
  return first_of({options.region, from_environment("AWS_REGION"), from_environment("AWS_DEFAULT_REGION"),
                   profile_of(options).get("region"), "us-east-1"});
}

/// "AKIA…1234"
std::string masked(const std::string& key) {
  return key.size() < 12 ? "…" : fmt::format("{}…{}", key.substr(0, 4), key.substr(key.size() - 4));
}

}  // namespace

S3Service::S3Service(const Library& library, S3Options options)
    : library_{library},
      options_{std::move(options)},
      endpoint_{endpoint_of(options_)},
      region_{region_of_options(options_)},
      anonymous_{options_.anonymous || from_environment("AWS_NO_SIGN_REQUEST") == "YES"},
      requester_pays_{options_.requester_pays || from_environment("AWS_REQUEST_PAYER") == "requester"} {}

S3Service::Shared& S3Service::shared() const {
  return shared_.get([this] {
    auto made = std::make_unique<Shared>();
    made->credentials = std::make_shared<Credentials>(
        [options = options_, &library = library_] { return look_for_credentials(options, library); });
    stop_at_exit(made->credentials);
    return made;
  });
}

std::string S3Service::region_of(const std::string& bucket) const {
  Shared& all = shared();
  const std::lock_guard lock{all.mutex};
  const auto known = all.regions.find(bucket);
  return known == all.regions.end() ? region_ : known->second;
}

Result<Address> S3Service::address(const std::string& path) const {
  FOREBAY_TRY(const BucketPath name, BucketPath::checked(path));
  const auto& [bucket, key] = name;
  const std::string escaped = percent_encoded(key, "/");
  const std::string region = region_of(bucket);
  const std::string_view end = region.starts_with("cn-") ? ".cn" : "";
  if (!endpoint_.empty()) return Address::of(library_, fmt::format("{}/{}/{}", endpoint_, bucket, escaped));
  if (is_host(bucket))
    return Address::of(library_, fmt::format("https://{}.s3.{}.amazonaws.com{}/{}", bucket, region, end, escaped));
  return Address::of(library_, fmt::format("https://{}.{}.amazonaws.com{}/{}/{}", "s3", region, end, bucket, escaped));
}

void S3Service::sign(Ask& ask, const std::string& path) const {
  const auto& headers = options_.http.headers;
  ask.headers.insert(ask.headers.end(), headers.begin(), headers.end());
  if (requester_pays_) ask.headers.emplace_back("x-amz-request-payer: requester");
  if (anonymous_) return;
  const S3Credentials now = shared().credentials->now();
  ask.sign = fmt::format("aws:amz:{}:s3", region_of(BucketPath::of(path).bucket));
  ask.user = now.key;
  ask.password = now.secret;
  ask.headers.emplace_back("x-amz-content-sha256: UNSIGNED-PAYLOAD");
  if (!now.token.empty()) ask.headers.push_back("x-amz-security-token: " + now.token);
}

Service::Refusal S3Service::refusal(const Came& came, const std::string& path) {
  const int status = came.reply.status();
  const ServiceError error = ServiceError::of(came.refusal);
  Refusal out;
  if (!error.code.empty())
    out.what = error.message.empty() ? error.code : fmt::format("{} ({})", error.code, error.message);
  const std::string region = came.reply.region().empty() ? error.region : came.reply.region();
  const std::string bucket = BucketPath::of(path).bucket;
  if (!region.empty() && status != 404 && region != region_of(bucket)) {
    Shared& all = shared();
    const std::lock_guard lock{all.mutex};
    all.regions.insert_or_assign(bucket, region);
    out.at_once = true;
    return out;
  }
  const bool old = error.code == "ExpiredToken" || error.code == "TokenRefreshRequired";
  const S3Credentials used = anonymous_ ? S3Credentials{} : shared().credentials->now();
  if (old && !anonymous_) shared().credentials->expired(used);
  out.slower = error.code == "SlowDown";
  out.later = old || out.slower || error.code == "InternalError" || error.code == "RequestTimeout";
  if (status == 403 && error.code == "RequestTimeTooSkewed") out.what += "; the clock of this machine is wrong";
  if (status == 403 || status == 400) {
    out.what += out.what.empty() ? "" : ", ";
    out.what += anonymous_ ? std::string{"not signed"}
                           : fmt::format("signed with the key {} of {}", masked(used.key), used.source);
  }
  return out;
}

void S3Service::when_ready(std::function<void()> go, std::function<void(const Error&)> fail) {
  if (anonymous_) return go();
  shared().credentials->when_there(std::move(go), std::move(fail));
}

}  // namespace forebay::stores::http

namespace forebay {

Result<std::shared_ptr<FileSystem>> s3_files(const S3Options& options) {
  using namespace stores::http;
  constexpr unsigned signs = 0x074b00;  // 7.75
  FOREBAY_TRY(const Library* const loaded, library(options.http.library));
  if (loaded->version_info(CURLVERSION_NOW)->version_num < signs)
    return Error{Code::config, Detail::invalid_argument,
                 fmt::format("s3 needs libcurl 7.75 or newer, found {}; `pip install forebay[remote]` brings one along",
                             loaded->version)};
  FOREBAY_TRY(Manners manners, manners_of(options.http, *loaded));
  return std::make_shared<ServiceFiles>(*loaded, std::make_shared<S3Service>(*loaded, options), std::move(manners));
}

}  // namespace forebay
