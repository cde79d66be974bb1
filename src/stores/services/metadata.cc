// SPDX-License-Identifier: Apache-2.0
#include "stores/services/metadata.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <forebay/json.h>

#include "stores/http/address.h"
#include "stores/services/profile.h"

namespace forebay::stores::http {

namespace {

constexpr long milliseconds_each = 1000;  // a machine without such a service often does not answer at all
constexpr std::size_t max_answer = std::size_t{64} << 10;

/// One request to a service of this machine or of its network.
struct Question {
  std::string url;
  bool put = false;
  std::vector<std::string> headers;
};

std::size_t keep(char* bytes, std::size_t size, std::size_t count, void* out) {
  auto& text = *static_cast<std::string*>(out);
  if (text.size() + size * count > max_answer) return 0;
  text.append(bytes, size * count);
  return size * count;
}

/// The body of a 200. An error says what was instead.
Result<std::string> answer_to(const Question& question, const Library& library) {
  CURL* const handle = library.easy_init();
  if (handle == nullptr) return Error{Code::io, Detail::resource_exhausted, "no memory is left"};
  std::string body;
  curl_slist* headers = nullptr;
  for (const std::string& header : question.headers) headers = library.slist_append(headers, header.c_str());
  const auto set = [&](CURLoption option, auto value) {
    static_cast<void>(library.easy_setopt(handle, option, value));
  };
  set(CURLOPT_URL, question.url.c_str());
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_NOPROXY, "*");
  set(CURLOPT_PROTOCOLS, static_cast<long>(CURLPROTO_HTTP | CURLPROTO_HTTPS));
  set(CURLOPT_TIMEOUT_MS, milliseconds_each);
  set(CURLOPT_HTTPHEADER, headers);
  if (question.put) set(CURLOPT_CUSTOMREQUEST, "PUT");
  set(CURLOPT_WRITEFUNCTION, &keep);
  set(CURLOPT_WRITEDATA, static_cast<void*>(&body));
  const CURLcode code = library.easy_perform(handle);
  long status = 0;
  static_cast<void>(library.easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status));
  library.easy_cleanup(handle);
  library.slist_free_all(headers);
  const std::string where = shown(question.url);
  if (code != CURLE_OK)
    return Error{Code::io, Detail::none, fmt::format("{} does not answer ({})", where, library.easy_strerror(code))};
  if (status != 200) return Error{Code::io, Detail::none, fmt::format("{} answers {}", where, status)};
  return body;
}

std::string text_of(const std::string& path) {
  std::ifstream file{path};
  std::string out{std::istreambuf_iterator<char>{file}, {}};
  while (!out.empty() && (out.back() == '\n' || out.back() == '\r')) out.pop_back();
  return out;
}

/// "2026-11-26T12:34:56Z"; fractions of a second are left out.
std::optional<std::chrono::sys_seconds> time_of(const std::string& text) {
  std::tm time{};
  if (strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &time) == nullptr) return std::nullopt;
  return std::chrono::sys_seconds{std::chrono::seconds{timegm(&time)}};
}

std::string member_of(const Json& object, const char* name) {
  const Json* const member = object.find(name);
  return member != nullptr && member->is(Json::Kind::string) ? member->string() : std::string{};
}

/// Those of a service of the machine by plain http, or anywhere by https.
bool may_be_asked(const std::string& url, const Library& library) {
  const auto address = Address::of(library, url);
  if (!address.ok()) return false;
  const auto is = [&](const char* host) { return address->origin.find(host) != std::string::npos; };
  return address->secure || address->loopback || is("//169.254.170.2:") || is("//169.254.170.23:") ||
         is("//[fd00:ec2::23]:");
}

}  // namespace

Result<S3Credentials> credentials_of_json(std::string_view text, std::string source) {
  const auto json = parse_json(text);
  if (!json.ok() || !json->is(Json::Kind::object))
    return Error{Code::io, Detail::none, fmt::format("{} gives no JSON object", source)};
  S3Credentials out{.key = member_of(*json, "AccessKeyId"),
                    .secret = member_of(*json, "SecretAccessKey"),
                    .token = member_of(*json, "Token"),
                    .source = std::move(source)};
  if (out.key.empty() || out.secret.empty())
    return Error{Code::io, Detail::none, fmt::format("{} gives no keys", out.source)};
  out.expires = time_of(member_of(*json, "Expiration"));
  return out;
}

Result<S3Credentials> of_container(const Library& library) {
  const std::string relative = from_environment("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  Question question{.url = relative.empty() ? from_environment("AWS_CONTAINER_CREDENTIALS_FULL_URI")
                                            : "http://169.254.170.2" + relative};
  if (question.url.empty())
    return Error{Code::io, Detail::none, "this is no container with credentials (AWS_CONTAINER_CREDENTIALS_FULL_URI)"};
  if (!may_be_asked(question.url, library))
    return Error{Code::io, Detail::none, fmt::format("{} is neither https nor this machine", shown(question.url))};
  const std::string file = from_environment("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
  const std::string token = file.empty() ? from_environment("AWS_CONTAINER_AUTHORIZATION_TOKEN") : text_of(file);
  if (!token.empty()) question.headers.push_back("Authorization: " + token);
  FOREBAY_TRY(const std::string body, answer_to(question, library));
  return credentials_of_json(body, "the container");
}

Result<S3Credentials> of_google_machine(const Library& library) {
  if (from_environment("NO_GCE_CHECK") == "true")
    return Error{Code::io, Detail::none, "the machine is not asked (NO_GCE_CHECK)"};
  std::string host = from_environment("GCE_METADATA_HOST");
  if (host.empty()) host = "metadata.google.internal";
  FOREBAY_TRY(const std::string body,
              answer_to({.url = "http://" + host + "/computeMetadata/v1/instance/service-accounts/default/token",
                         .headers = {"Metadata-Flavor: Google"}},
                        library));
  const auto json = parse_json(body);
  const Json* const ends = json.ok() && json->is(Json::Kind::object) ? json->find("expires_in") : nullptr;
  S3Credentials out{.key = {}, .secret = {}, .source = "the machine"};
  if (ends != nullptr) out.token = member_of(*json, "access_token");
  if (out.token.empty() || !ends->is(Json::Kind::integer) || ends->integer() < 0)
    return Error{Code::io, Detail::none, "the machine gives no token"};
  constexpr std::int64_t a_day = 86'400;
  out.expires = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()) +
                std::chrono::seconds{std::min(ends->integer(), a_day)};
  return out;
}

Result<S3Credentials> of_machine(const Library& library) {
  if (from_environment("AWS_EC2_METADATA_DISABLED") == "true")
    return Error{Code::io, Detail::none, "the machine is not asked (AWS_EC2_METADATA_DISABLED)"};
  std::string base = from_environment("AWS_EC2_METADATA_SERVICE_ENDPOINT");
  if (base.empty()) base = "http://169.254.169.254";
  while (base.ends_with('/')) base.pop_back();
  FOREBAY_TRY(const std::string token, answer_to({.url = base + "/latest/api/token",
                                                  .put = true,
                                                  .headers = {"X-aws-ec2-metadata-token-ttl-seconds: 21600"}},
                                                 library));
  const std::vector<std::string> headers{"X-aws-ec2-metadata-token: " + token};
  const std::string roles = base + "/latest/meta-data/iam/security-credentials/";
  FOREBAY_TRY(const std::string role, answer_to({.url = roles, .headers = headers}, library));
  FOREBAY_TRY(const std::string body,
              answer_to({.url = roles + role.substr(0, role.find_first_of("\r\n")), .headers = headers}, library));
  return credentials_of_json(body, "the machine");
}

}  // namespace forebay::stores::http
