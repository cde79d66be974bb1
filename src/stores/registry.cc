// SPDX-License-Identifier: Apache-2.0
#include "stores/registry.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <forebay/gs_files.h>
#include <forebay/http_files.h>
#include <forebay/s3_files.h>

#include "stores/forever.h"
#include "stores/services/profile.h"

namespace forebay {
namespace stores {
namespace {

using ByScheme = std::map<std::string, std::shared_ptr<FileSystem>, std::less<>>;

/// All file systems. Readers take no lock: each change makes a new map, and former maps and what they name stay, as
/// plans that are at work have pointers into them.
class Registry {
 public:
  static Registry& get() {
    static Forever<Registry> all;
    return *all;
  }
  [[nodiscard]] FileSystem* find(const std::string& scheme) const {
    const ByScheme* const all = now_.load(std::memory_order_acquire);
    if (all == nullptr || scheme.empty()) return nullptr;
    const auto found = all->find(scheme);
    return found == all->end() ? nullptr : found->second.get();
  }
  [[nodiscard]] bool empty() const { return now_.load(std::memory_order_acquire) == nullptr; }
  void add(const std::string& scheme, std::shared_ptr<FileSystem> system) {
    const std::lock_guard lock{mutex_};
    const ByScheme* const before = now_.load(std::memory_order_relaxed);
    auto after = before == nullptr ? std::make_unique<ByScheme>() : std::make_unique<ByScheme>(*before);
    (*after)[scheme] = std::move(system);
    all_.push_back(std::move(after));
    now_.store(all_.back().get(), std::memory_order_release);
  }
  void set_finder(SchemeFinder finder) {
    const std::lock_guard lock{mutex_};
    finder_ = std::move(finder);
  }
  [[nodiscard]] SchemeFinder finder() {
    const std::lock_guard lock{mutex_};
    return finder_;
  }

 private:
  std::atomic<const ByScheme*> now_{nullptr};
  std::mutex mutex_;
  std::vector<std::unique_ptr<const ByScheme>> all_;
  SchemeFinder finder_;
};

bool is_scheme(std::string_view text) {
  const auto is = [](char letter, auto test) {
    const auto byte = static_cast<unsigned char>(letter);
    return byte < 0x80 && test(byte) != 0;
  };
  const auto alpha = [](int byte) { return std::isalpha(byte); };
  const auto alnum = [](int byte) { return std::isalnum(byte); };
  return !text.empty() && is(text.front(), alpha) && std::ranges::all_of(text, [&](char letter) {
    return is(letter, alnum) || letter == '+' || letter == '.' || letter == '-';
  });
}

enum class Signing : std::uint8_t { no, beside, yes };

/// Whether a parameter of a query is a signature, or stands beside one: those of Amazon, Google, Azure, CloudFront and
/// their kin.
Signing signing_of(std::string_view parameter) {
  std::string name{parameter.substr(0, parameter.find('='))};
  std::ranges::transform(name, name.begin(),
                         [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  constexpr std::array<std::string_view, 7> signatures{
      "signature", "sig", "x-amz-signature", "x-goog-signature", "x-oss-signature", "token", "access_token"};
  constexpr std::array<std::string_view, 19> others{"expires",
                                                    "key-pair-id",
                                                    "policy",
                                                    "awsaccesskeyid",
                                                    "googleaccessid",
                                                    "ossaccesskeyid",
                                                    "se",
                                                    "sp",
                                                    "sv",
                                                    "sr",
                                                    "st",
                                                    "spr",
                                                    "skoid",
                                                    "sktid",
                                                    "skt",
                                                    "ske",
                                                    "sks",
                                                    "skv",
                                                    "sip"};
  if (std::ranges::find(signatures, name) != signatures.end()) return Signing::yes;
  const bool beside = name.starts_with("x-amz-") || name.starts_with("x-goog-") || name.starts_with("x-oss-") ||
                      std::ranges::find(others, name) != others.end();
  return beside ? Signing::beside : Signing::no;
}

/// The addresses of http and https, which libcurl reads.
bool is_web(std::string_view scheme) { return scheme == "http" || scheme == "https"; }

HttpOptions usual_options() { return {.allow_http = http::from_environment("FOREBAY_ALLOW_HTTP") == "1"}; }

/// What reads a scheme of which nobody has said what reads it. Null: nothing here.
Result<std::shared_ptr<FileSystem>> usual_files(std::string_view scheme) {
  if (is_web(scheme)) return http_files(usual_options());
  if (scheme == "s3") return s3_files({.http = usual_options()});
  if (scheme == "gs") return gs_files({.http = usual_options()});
  return std::shared_ptr<FileSystem>{};
}

/// The signed addresses by the names that they have here.
class Addresses {
 public:
  static Addresses& get() {
    static Forever<Addresses> all;
    return *all;
  }
  void remember(const std::string& path, const std::string& address) {
    const std::lock_guard lock{mutex_};
    by_path_[path] = address;
  }
  [[nodiscard]] std::string of(const std::string& path) {
    const std::lock_guard lock{mutex_};
    const auto found = by_path_.find(path);
    return found == by_path_.end() ? path : found->second;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::string, std::less<>> by_path_;
};

}  // namespace

std::string public_name(const std::string& path) {
  if (!is_web(scheme_of(path))) return path;
  const std::size_t query = std::min(path.find('?'), path.size());
  const std::size_t host = path.find("://") + 3;
  const std::size_t at = path.rfind('@', path.find_first_of("/?#", host));  // behind a user and a password
  const bool has_user = at != std::string::npos && at >= host;
  std::string out = path.substr(0, host) + path.substr(has_user ? at + 1 : host, query - (has_user ? at + 1 : host));
  bool is_secret = has_user;
  char before = '?';
  for (std::string_view rest = std::string_view{path}.substr(std::min(query + 1, path.size())); !rest.empty();) {
    const std::size_t end = std::min(rest.find('&'), rest.size());
    const std::string_view parameter = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const Signing signing = signing_of(parameter);
    is_secret = is_secret || signing == Signing::yes;
    if (signing != Signing::no) continue;
    out += std::exchange(before, '&');
    out += parameter;
  }
  return is_secret ? out : path;
}

std::string without_signature(const std::string& path) {
  std::string name = public_name(path);
  if (name != path) Addresses::get().remember(name, path);
  return name;
}

FileSystem* file_system_of(const std::string& path) {
  const Registry& all = Registry::get();
  return all.empty() ? nullptr : all.find(scheme_of(path));
}

Result<FileSystem*> find_file_system(const std::string& path) {
  const std::string scheme = scheme_of(path);
  if (scheme.empty()) return nullptr;
  const std::string name = without_signature(path);
  Registry& all = Registry::get();
  if (FileSystem* const known = all.find(scheme)) return known;
  const auto fails = [&](const Error& why) {
    return Error{why.code(), why.detail(), fmt::format("'{}': {}", name, why.message())};
  };
  const auto keep = [&](Result<std::shared_ptr<FileSystem>>& made) {
    all.add(scheme, *std::move(made));
    return all.find(scheme);
  };
  const SchemeFinder finder = all.finder();
  const auto ask_finder = [&] { return finder ? finder(scheme) : Result<std::shared_ptr<FileSystem>>{nullptr}; };
  // The finder may know credentials of more kinds, and no better way to read an address.
  auto first = is_web(scheme) ? usual_files(scheme) : ask_finder();
  if (first.ok() && *first) return keep(first);
  if (!is_web(scheme) && !first.ok()) return fails(first.error());
  auto second = is_web(scheme) ? ask_finder() : usual_files(scheme);
  if (!second.ok()) return fails(second.error());
  if (*second) return keep(second);
  if (!first.ok()) return fails(first.error());
  return Error{Code::config, Detail::invalid_argument,
               fmt::format("'{}': only local files can be read here; in Python, the package fsspec reads them, and "
                           "forebay.add_file_system(\"{}\", …) names another reader; in C++, forebay::add_file_system",
                           name, scheme)};
}

std::string scheme_of(const std::string& path) {
  const std::size_t end = path.find("://");
  if (end == std::string::npos) return {};
  return is_scheme(std::string_view{path}.substr(0, end)) ? path.substr(0, end) : std::string{};
}

}  // namespace stores

Result<void> add_file_system(const std::string& scheme, std::shared_ptr<FileSystem> system) {
  if (!stores::is_scheme(scheme))
    return Error{
        Code::config, Detail::invalid_argument,
        fmt::format("'{}' is no scheme: a letter, then letters, digits, `+`, `.` or `-`, as \"s3\" of \"s3://\"",
                    scheme)};
  if (!system) return Error{Code::config, Detail::invalid_argument, fmt::format("no file system for '{}'", scheme)};
  stores::Registry::get().add(scheme, std::move(system));
  return {};
}

std::string address_of(const std::string& path) { return stores::Addresses::get().of(path); }

Result<bool> has_file_system(const std::string& path) {
  FOREBAY_TRY(const FileSystem* const found, stores::find_file_system(path));
  return found != nullptr;
}

SchemeFinder scheme_finder() { return stores::Registry::get().finder(); }

void find_schemes_with(SchemeFinder finder) { stores::Registry::get().set_finder(std::move(finder)); }

}  // namespace forebay
