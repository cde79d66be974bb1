// SPDX-License-Identifier: Apache-2.0
#include <forebay/sources/fixed_length.h>

#include <algorithm>

#include <fmt/core.h>

#include "sources/framing.h"
#include "sources/source_files.h"

namespace forebay::sources {
namespace {

class FixedLengthFormat final : public Format {
 public:
  explicit FixedLengthFormat(const FixedLength& options)
      : record_{static_cast<std::size_t>(options.record_bytes)},
        needed_{static_cast<std::size_t>(options.record_bytes + options.footer_bytes)},
        hop_{static_cast<std::size_t>(options.hop_bytes > 0 ? options.hop_bytes : options.record_bytes)},
        header_{options.header_bytes},
        footer_{static_cast<std::size_t>(options.footer_bytes)},
        strict_tail_{options.strict_tail} {}

  Result<Scanned> scan(std::span<const std::byte> bytes, std::int64_t offset, bool last, std::size_t limit,
                       std::vector<Extent>& records) const override {
    const std::size_t size = bytes.size();
    const std::size_t gap = before_next(offset);
    if (gap >= size) {
      if (last && offset + static_cast<std::int64_t>(size) < header_) return no_header(offset, size);
      return Scanned{.consumed = size, .wanted = last ? 0U : 1U};
    }
    limit = std::min(limit, std::size_t{max_record_bytes});
    std::size_t at = gap;
    for (; at < limit && at + needed_ <= size; at += hop_)
      records.push_back({static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(record_)});
    if (at >= limit) return Scanned{.consumed = std::min(at, size)};
    if (!last) return Scanned{.consumed = std::min(at, size), .wanted = needed_};
    if (strict_tail_ && end_of_last(offset, at) + footer_ < size) return ragged_tail(offset, at, size);
    return Scanned{.consumed = size};
  }

  Result<void> verify(std::span<const Record>) const override { return {}; }  // the records have no checksums

  std::string key(std::string_view file, std::int64_t record, std::int64_t) const override {
    return fmt::format("{}:{}", file, record);
  }

  /// Binary records may begin with the two bytes that gzip begins with; the next two are asked as well.
  Compression detect(std::span<const std::byte> head) const override {
    const Compression found = Format::detect(head);
    if (found != Compression::gzip) return found;
    const bool gzip = head.size() >= 18 && head[2] == std::byte{8} && (head[3] & std::byte{0xe0}) == std::byte{0};
    return gzip ? found : Compression::none;
  }

 private:
  /// Bytes from `offset` of the file to the next beginning of a record.
  [[nodiscard]] std::size_t before_next(std::int64_t offset) const {
    if (offset <= header_) return static_cast<std::size_t>(header_ - offset);
    const std::size_t into = static_cast<std::size_t>(offset - header_) % hop_;
    return into == 0 ? 0 : hop_ - into;
  }

  /// Where the last record ends when the next one would begin at `at`; later when the gap after it goes on.
  [[nodiscard]] std::size_t end_of_last(std::int64_t offset, std::size_t at) const {
    const bool first = offset + static_cast<std::int64_t>(at) == header_;
    return first || hop_ > record_ ? at : at + record_ - hop_;
  }

  [[nodiscard]] Error no_header(std::int64_t offset, std::size_t size) const {
    const std::int64_t end = offset + static_cast<std::int64_t>(size);
    return {Code::data, Detail::data_loss,
            fmt::format("the file ends after {} bytes, inside its header of header_bytes, {}", end, header_),
            Place{.offset = end}};
  }

  [[nodiscard]] Error ragged_tail(std::int64_t offset, std::size_t at, std::size_t size) const {
    return {Code::data, Detail::data_loss,
            fmt::format("the file ends inside a record: after {} of its {} bytes{}", size - at, needed_,
                        footer_ > 0 ? ", footer included" : ""),
            Place{.offset = offset + static_cast<std::int64_t>(at)}};
  }

  const std::size_t record_;
  const std::size_t needed_;  // bytes from a record's beginning that must be there: the record and the footer
  const std::size_t hop_;
  const std::int64_t header_;
  const std::size_t footer_;
  const bool strict_tail_;
};

Result<Source> bind_fixed_length(const FixedLength& options, const BindContext& context) {
  if (options.record_bytes + options.footer_bytes > max_record_bytes) {
    return Error{Code::config, Detail::invalid_argument,
                 fmt::format("a record and the footer have at most {} bytes together", max_record_bytes)}
        .at(Field{"record_bytes"});
  }
  FOREBAY_TRY(std::vector<std::string> files, source_files(options.files, context.folder));
  return Source{.files = std::move(files),
                .compression = options.compression,
                .format = std::make_shared<FixedLengthFormat>(options),
                .max_decompressed_bytes = options.max_decompressed_bytes,
                .signature = fmt::format("fixed_length record={} header={} footer={} hop={}{}", options.record_bytes,
                                         options.header_bytes, options.footer_bytes, options.hop_bytes,
                                         options.strict_tail ? " strict_tail" : ""),
                .record_key = options.record_key};
}

}  // namespace

SourceType fixed_length() {
  return describe<SourceType, FixedLength>("fixed_length", "Reads records of one length.", bind_fixed_length)
      .required("files", &FixedLength::files, "Paths and patterns (*, ?, [a-z]; path@N names N shards), in this order.")
      .required("record_bytes", &FixedLength::record_bytes, "Bytes of a record.", {.min = 1, .max = max_record_bytes})
      .field("header_bytes", &FixedLength::header_bytes,
             "Bytes at the beginning of each file that belong to no record. A shorter file is an error.", {.min = 0})
      .field("footer_bytes", &FixedLength::footer_bytes, "Bytes at the end of each file that belong to no record.",
             {.min = 0, .max = max_record_bytes})
      .field("hop_bytes", &FixedLength::hop_bytes,
             "Bytes from the beginning of a record to that of the next: fewer than record_bytes make records overlap, "
             "more leave bytes out. 0: record_bytes.",
             {.min = 0, .max = max_record_bytes})
      .field("compression", &FixedLength::compression,
             "How whole files are compressed; auto knows all but zlib by their first bytes; zlib must be named.")
      .field("strict_tail", &FixedLength::strict_tail,
             "A file that ends inside a record is an error; otherwise these bytes are left out.")
      .field("max_decompressed_bytes", &FixedLength::max_decompressed_bytes,
             "A compressed file that holds more than this is an error, once that many bytes were decompressed.",
             {.min = 1})
      .field("record_key", &FixedLength::record_key, record_key_doc)
      .example({.options = R"({"files": ["in.bin"], "record_bytes": 3})",
                .in = R"(["onetwosix", "tenxx"])",
                .out = R"(["one", "two", "six", "ten"])"})
      .example({.options = R"({"files": ["in.bin"], "record_bytes": 4, "header_bytes": 1, "footer_bytes": 2,
                               "hop_bytes": 2})",
                .in = R"(["#abcdefgh--"])",
                .out = R"(["abcd", "cdef", "efgh"])"});
}

}  // namespace forebay::sources
