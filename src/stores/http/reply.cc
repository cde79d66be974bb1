// SPDX-License-Identifier: Apache-2.0
#include "stores/http/reply.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

#include "stores/http/trimmed.h"

namespace forebay::stores::http {

namespace {

constexpr std::size_t max_bytes = std::size_t{128} << 10;  // of a head

std::string lower(std::string_view text) {
  std::string out{text};
  std::ranges::transform(out, out.begin(),
                         [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return out;
}

std::optional<std::int64_t> number_or_star(std::string_view text) { return text == "*" ? -1 : number_in(text); }

}  // namespace

std::optional<std::int64_t> number_in(std::string_view digits) {
  std::int64_t out = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
  if (problem != std::errc{} || end != digits.data() + digits.size() || digits.front() == '-') return std::nullopt;
  return out;
}

std::optional<ContentRange> content_range_of(std::string_view text) {
  text = trimmed(text);
  if (lower(text.substr(0, 6)) != "bytes ") return std::nullopt;
  text = trimmed(text.substr(6));
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::string_view range = trimmed(text.substr(0, slash));
  const auto size = number_or_star(trimmed(text.substr(slash + 1)));
  if (!size) return std::nullopt;
  ContentRange out{.size = *size};
  if (range == "*") return out;
  const std::size_t dash = range.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto first = number_in(range.substr(0, dash));
  const auto last = number_in(range.substr(dash + 1));
  if (!first || !last || *last < *first || (*size >= 0 && *last >= *size)) return std::nullopt;
  out.first = *first;
  out.last = *last;
  return out;
}

bool Reply::add(std::string_view line) {
  bytes_ += line.size();
  if (bytes_ > max_bytes) return false;
  if (line.starts_with("HTTP/")) {
    begin(trimmed(line));
    return true;
  }
  const std::size_t colon = line.find(':');
  if (colon != std::string_view::npos) add(lower(line.substr(0, colon)), trimmed(line.substr(colon + 1)));
  return true;
}

/// Of this answer, after heads such as "100 Continue".
void Reply::begin(std::string_view line) {
  const std::size_t bytes = bytes_;
  *this = Reply{};
  bytes_ = bytes;
  const std::size_t space = std::min(line.find(' '), line.size());
  line = trimmed(line.substr(space));
  status_ = static_cast<int>(number_in(line.substr(0, 3)).value_or(0));
  reason_ = trimmed(line.substr(std::min<std::size_t>(3, line.size())));
}

template <class T>
void Reply::set(T& member, T value, const T& none) {
  contradicts_itself_ = contradicts_itself_ || (member != none && member != value);
  member = std::move(value);
}

void Reply::add(std::string_view name, std::string_view value) {
  if (name == "content-length") {
    const auto length = number_in(value);
    contradicts_itself_ = contradicts_itself_ || !length;
    set(length_, length.value_or(-1), std::int64_t{-1});
  } else if (name == "content-range") {
    auto range = content_range_of(value);
    contradicts_itself_ = contradicts_itself_ || !range;
    set(range_, std::move(range), {});
  } else if (name == "etag") {
    set(etag_, std::string{value}, {});
  } else if (name == "last-modified") {
    last_modified_ = value;
  } else if (name == "content-encoding") {
    const std::string encoding = lower(value);
    encoding_ = encoding == "identity" ? std::string{} : encoding;
  } else if (name == "retry-after") {
    retry_after_ = number_in(value).value_or(-1);
  } else if (name == "x-amz-request-id" || name == "x-request-id" || name == "x-goog-request-id") {
    request_id_ = value.substr(0, 100);
  } else if (name == "x-amz-bucket-region") {
    region_ = value.substr(0, 64);
  }
}

std::int64_t Reply::size() const { return range_ ? range_->size : length_; }

/// FNV-1a. A weak ETag is the same version as the strong one: servers weaken it on the way.
std::uint64_t version_of(std::string_view text) {
  if (text.starts_with("W/")) text.remove_prefix(2);
  if (text.empty()) return 0;
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  return std::max<std::uint64_t>(hash, 1);
}

}  // namespace forebay::stores::http
