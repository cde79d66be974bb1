// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <forebay/file_system.h>

namespace forebay::stores::http {

/// The hash of an ETag, with its quotes, or of what else tells versions of a file apart. 0: of an empty text.
[[nodiscard]] std::uint64_t version_of(std::string_view text);

/// The number that is written in digits alone, below 2^63.
[[nodiscard]] std::optional<std::int64_t> number_in(std::string_view digits);

/// "bytes 0-9/100": which bytes of a file an answer has. A part that is "*" is -1.
struct ContentRange {
  std::int64_t first = -1, last = -1, size = -1;
  bool operator==(const ContentRange&) const = default;
};
/// None: the text is something else.
[[nodiscard]] std::optional<ContentRange> content_range_of(std::string_view text);

/// The head of an answer: its status, and the headers that say which bytes of which version of a file come.
class Reply {
 public:
  /// Takes a line of the head as it came. False: the head is larger than any that makes sense.
  [[nodiscard]] bool add(std::string_view line);

  [[nodiscard]] int status() const { return status_; }
  [[nodiscard]] const std::string& reason() const { return reason_; }  ///< "Not Found".
  /// Of the body. -1: not said, or said twice with two values.
  [[nodiscard]] std::int64_t length() const { return length_; }
  /// Of the whole file: as the range says it, or the length where there is none. -1: not known.
  [[nodiscard]] std::int64_t size() const;
  [[nodiscard]] const std::optional<ContentRange>& range() const { return range_; }
  [[nodiscard]] const std::string& etag() const { return etag_; }  ///< With its quotes.
  [[nodiscard]] const std::string& last_modified() const { return last_modified_; }
  [[nodiscard]] const std::string& encoding() const { return encoding_; }        ///< "gzip"; empty: none.
  [[nodiscard]] std::int64_t retry_after() const { return retry_after_; }        ///< Seconds; -1: not said.
  [[nodiscard]] const std::string& request_id() const { return request_id_; }    ///< Of a store, for its support.
  [[nodiscard]] const std::string& region() const { return region_; }            ///< Of the bucket, as s3 says it.
  [[nodiscard]] bool contradicts_itself() const { return contradicts_itself_; }  ///< Two lengths, ranges or ETags.

  /// The hash of what tells this version of the file from others: the ETag, else the time of the last change. 0:
  /// nothing.
  [[nodiscard]] std::uint64_t version() const { return version_of(etag_.empty() ? last_modified_ : etag_); }

 private:
  void begin(std::string_view line);
  void add(std::string_view name, std::string_view value);
  template <class T>
  void set(T& member, T value, const T& none);

  std::size_t bytes_ = 0;
  int status_ = 0;
  std::string reason_, etag_, last_modified_, encoding_, request_id_, region_;
  std::int64_t length_ = -1, retry_after_ = -1;
  std::optional<ContentRange> range_;
  bool contradicts_itself_ = false;
};

}  // namespace forebay::stores::http
