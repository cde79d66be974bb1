// SPDX-License-Identifier: Apache-2.0
#include <forebay/sources/fixed_length.h>

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "sources/framing.h"
#include "sources/source_files.h"
#include "sources/stored/fixed_presets.h"

namespace forebay::sources {
namespace {

class FixedLengthFormat final : public Format {
 public:
  explicit FixedLengthFormat(FixedLayout layout) : FixedLengthFormat{layout.options, std::move(layout)} {}

  Result<Scanned> scan(std::span<const std::byte> bytes, std::int64_t offset, bool last, std::size_t limit,
                       std::vector<Extent>& records) const override {
    if (offset == 0 && !layout_.header.empty()) {
      if (bytes.size() < layout_.header.size() && !last) return Scanned{.consumed = 0, .wanted = layout_.header.size()};
      FOREBAY_DO(layout_.check_header(bytes.first(std::min(bytes.size(), layout_.header.size()))));
    }
    FOREBAY_TRY(const Scanned scanned, scan_records(bytes, offset, last, limit, records));
    const std::int64_t end = offset + std::ssize(bytes);
    const bool all = last && scanned.consumed == bytes.size();
    if (all && !layout_.header.empty()) FOREBAY_DO(layout_.check_size(end).at(Place{.offset = end}));
    return scanned;
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
  FixedLengthFormat(const FixedLength& options, FixedLayout layout)
      : record_{static_cast<std::size_t>(options.record_bytes)},
        needed_{static_cast<std::size_t>(options.record_bytes + options.footer_bytes)},
        hop_{static_cast<std::size_t>(options.hop_bytes > 0 ? options.hop_bytes : options.record_bytes)},
        header_{options.header_bytes},
        footer_{static_cast<std::size_t>(options.footer_bytes)},
        strict_tail_{options.strict_tail},
        layout_{std::move(layout)} {}

  Result<Scanned> scan_records(std::span<const std::byte> bytes, std::int64_t offset, bool last, std::size_t limit,
                               std::vector<Extent>& records) const {
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
  const FixedLayout layout_;
};

Result<FixedLayout> layout_of(const FixedLength& options, const std::vector<std::string>& files,
                              const BindContext& context) {
  if (options.preset != FixedPreset::none) return layout_of_preset(options, files, context);
  std::string fault;
  if (options.record_bytes == 0) {
    fault = "must be 1 or more, or a preset must be given";
  } else if (options.record_bytes + options.footer_bytes > max_record_bytes) {
    fault = fmt::format("a record and the footer have at most {} bytes together", max_record_bytes);
  }
  if (!fault.empty()) return Error{Code::config, Detail::invalid_argument, fault}.at(Field{"record_bytes"});
  return FixedLayout{.options = options};
}

Result<Source> bind_fixed_length(const FixedLength& options, const BindContext& context) {
  FOREBAY_TRY(std::vector<std::string> files, source_files(options.files, context));
  FOREBAY_TRY(FixedLayout layout, layout_of(options, files, context));
  const FixedLength& sizes = layout.options;
  std::string signature =
      fmt::format("fixed_length record={} header={} footer={} hop={}{}{}", sizes.record_bytes, sizes.header_bytes,
                  sizes.footer_bytes, sizes.hop_bytes, sizes.strict_tail ? " strict_tail" : "", layout.signature);
  Source::Decides decides = layout.decides;
  return Source{.files = std::move(files),
                .compression = options.compression,
                .format = std::make_shared<FixedLengthFormat>(std::move(layout)),
                .max_decompressed_bytes = options.max_decompressed_bytes,
                .verify_first = options.verify_first,
                .signature = std::move(signature),
                .decides = std::move(decides),
                .record_key = options.record_key};
}

}  // namespace

SourceType fixed_length() {
  return describe<SourceType, FixedLength>("fixed_length", "Reads records of one length.", bind_fixed_length)
      .required("files", &FixedLength::files, "Paths and patterns (*, ?, [a-z]; path@N names N shards), in this order.")
      .field("record_bytes", &FixedLength::record_bytes, "Bytes of a record. Must be given without a preset.",
             {.min = 0, .max = max_record_bytes})
      .field("preset", &FixedLength::preset,
             "idx (MNIST), cifar10 or cifar100: decides all sizes, and of the decoder raw the shape and byte order; "
             "files that do not fit are errors.")
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
      .field("verify_first", &FixedLength::verify_first,
             "Compares the checksums of a compressed file before its first record is delivered, in the first pass of a "
             "run.")
      .field("record_key", &FixedLength::record_key, record_key_doc)
      .example({.options = R"({"files": ["in.bin"], "record_bytes": 3})",
                .in = R"(["onetwosix", "tenxx"])",
                .out = R"(["one", "two", "six", "ten"])"})
      .example({.options = R"({"files": ["in.bin"], "record_bytes": 4, "header_bytes": 1, "footer_bytes": 2,
                               "hop_bytes": 2})",
                .in = R"(["#abcdefgh--"])",
                .out = R"(["abcd", "cdef", "efgh"])"})
      .example({.options = R"({"files": ["in.idx"], "preset": "idx"})",
                .in = R"(["base64:AAAIAgAAAAMAAAADb25ldHdvc2l4"])",
                .out = R"(["one", "two", "six"])"});
}

}  // namespace forebay::sources
