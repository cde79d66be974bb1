// SPDX-License-Identifier: Apache-2.0
#include <forebay/sources/tfrecord.h>

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/core.h>

#include "base/cpu.h"
#include "base/zeros.h"
#include "sources/detect.h"
#include "sources/frame.h"
#include "sources/framing.h"
#include "sources/resync.h"
#include "sources/source_files.h"

namespace forebay::sources {
namespace {

// An extent has 32 bits: no record begins after this offset, however large the limit is.
constexpr std::size_t reach = std::numeric_limits<std::uint32_t>::max() - header_bytes;
// Records of a file mostly have similar lengths, so the place of a header some frames ahead can be predicted.
constexpr std::size_t frames_ahead = 32;

enum class Stop : std::uint8_t { limit, header, payload, bad_length, too_long };

struct Hop {
  Stop stop;
  std::size_t at;            ///< Where the frame begins that was not accepted.
  std::uint64_t length = 0;  ///< The length in its header.
};

/// Goes from frame to frame. Only the length of a frame is trusted, and only if its checksum is right and the whole
/// frame is there.
template <std::uint32_t (*checksum)(std::uint64_t)>
[[gnu::always_inline]] inline Hop hop(std::span<const std::byte> bytes, std::size_t limit, std::uint64_t max,
                                      std::vector<Extent>& records) {
  const std::byte* const base = bytes.data();
  const std::size_t size = bytes.size();
  std::size_t at = 0;
  while (at < limit) {
    const std::size_t left = size - at;
    if (left < header_bytes) return {Stop::header, at};
    const std::byte* const header = base + at;
    const std::uint64_t length = length_at(header);
    if (columns::mask(checksum(length)) != checksum_at(header + 8)) [[unlikely]]
      return {Stop::bad_length, at, length};
    if (length > max) [[unlikely]]
      return {Stop::too_long, at, length};
    const std::size_t frame = header_bytes + length + footer_bytes;  // most is below 2^32: no wrap
    if (frame > left) [[unlikely]]
      return {Stop::payload, at, length};
    __builtin_prefetch(header + frames_ahead * frame);
    records.push_back({static_cast<std::uint32_t>(at + header_bytes), static_cast<std::uint32_t>(length)});
    at += frame;
  }
  return {Stop::limit, at};
}

#if defined(__x86_64__)
[[gnu::target("sse4.2")]] Hop hop_sse42(std::span<const std::byte> bytes, std::size_t limit, std::uint64_t max,
                                        std::vector<Extent>& records) {
  return hop<columns::crc32c_sse42>(bytes, limit, max, records);
}
#endif

Hop hop_scalar(std::span<const std::byte> bytes, std::size_t limit, std::uint64_t max, std::vector<Extent>& records) {
  return hop<columns::crc32c_scalar>(bytes, limit, max, records);
}

Hop hop_fastest(std::span<const std::byte> bytes, std::size_t limit, std::uint64_t max, std::vector<Extent>& records) {
#if defined(__x86_64__)
  if (isa() != Isa::scalar) return hop_sse42(bytes, limit, max, records);
#endif
  return hop_scalar(bytes, limit, max, records);
}

class TfrecordFormat final : public Format {
 public:
  explicit TfrecordFormat(const Framing& framing)
      : framing_{framing}, most_{static_cast<std::uint64_t>(framing.max_record_bytes)} {}

  Result<Scanned> scan(std::span<const std::byte> bytes, std::int64_t offset, bool last, std::size_t limit,
                       std::vector<Extent>& records) const override {
    const Hop end = hop_fastest(bytes, std::min(limit, reach), most_, records);
    const std::size_t left = bytes.size() - end.at;
    const Place place{.offset = offset + static_cast<std::int64_t>(end.at)};
    switch (end.stop) {
      case Stop::limit:
        return Scanned{.consumed = end.at};
      case Stop::bad_length:
        return wrong_length(bytes.subspan(end.at), place);
      case Stop::too_long:
        return too_long(end.length, place);
      case Stop::header:
        if (last && framing_.tolerate_partial_header) return Scanned{.consumed = bytes.size()};
        if (last && left != 0) return truncated(fmt::format("{} of the 12 bytes of its header", left), place);
        return Scanned{.consumed = end.at, .wanted = last ? 0 : header_bytes};
      case Stop::payload: {
        if (!last) return Scanned{.consumed = end.at, .wanted = header_bytes + end.length + footer_bytes};
        return truncated(fmt::format("{} of its {} bytes", left, header_bytes + end.length + footer_bytes), place);
      }
    }
    return Scanned{.consumed = end.at};
  }

  Resync resync(std::span<const std::byte> bytes, std::int64_t offset, std::size_t from, bool last,
                std::shared_ptr<void>& kept) const override {
    if (!kept) kept = std::make_shared<columns::RangeChecksums>();
    return next_frame(bytes, offset, from, last, most_, *static_cast<columns::RangeChecksums*>(kept.get()));
  }

  std::size_t padding(std::span<const std::byte> bytes) const override {
    return framing_.allow_trailing_zeros ? leading_zeros(bytes) : 0;
  }

  std::int64_t record_offset(std::int64_t payload) const override {
    return payload - static_cast<std::int64_t>(header_bytes);
  }

  std::size_t trailer() const override { return footer_bytes; }

  bool has_checksums() const override { return true; }

  Compression detect(std::span<const std::byte> head) const override { return detect_tfrecord(head); }

  Result<void> verify(std::span<const Record> records) const override {
    std::array<std::uint32_t, 16> found;
    for (std::size_t first = 0; first < records.size(); first += found.size()) {
      const auto some = records.subspan(first, std::min(found.size(), records.size() - first));
      columns::crc32c(some, found.data());
      for (std::size_t i = 0; i < some.size(); ++i) {
        const std::uint32_t stored = checksum_at(some[i].data() + some[i].size());
        if (columns::mask(found[i]) != stored) [[unlikely]]
          return wrong_payload(stored, columns::mask(found[i]), first + i);
      }
    }
    return {};
  }

 private:
  [[nodiscard]] static Error wrong_payload(std::uint32_t stored, std::uint32_t found, std::size_t record) {
    return {Code::data, Detail::data_loss,
            fmt::format("corrupted record: payload checksum is {:#010x}, the bytes give {:#010x}", stored, found),
            Place{.row = static_cast<std::int64_t>(record)}};
  }

  [[nodiscard]] static Error truncated(const std::string& what, const Place& place) {
    return {Code::data, Detail::data_loss, fmt::format("truncated record: the file ends after {}", what), place};
  }

  [[nodiscard]] static Error wrong_length(std::span<const std::byte> frame, const Place& place) {
    std::string message = "corrupted record: length checksum is wrong";
    if (const std::string_view kind = file_kind(frame); place.offset == 0 && !kind.empty())
      return {Code::data, Detail::invalid_argument, fmt::format("not a TFRecord file, but {}", kind), place};
    if (const std::string_view magic = magic_of(frame); place.offset == 0 && !magic.empty()) {
      message += fmt::format("; the file looks like {}: is its compression right?", magic);
    } else if (place.offset == 0) {
      message += "; is this a TFRecord file?";
    }
    return {Code::data, Detail::data_loss, std::move(message), place};
  }

  [[nodiscard]] Error too_long(std::uint64_t length, const Place& place) const {
    return {Code::data, Detail::data_loss,
            fmt::format("record too large: its length says {} bytes, max_record_bytes is {}", length, most_), place};
  }

  const Framing framing_;
  const std::uint64_t most_;
};

Result<Source> bind(const TfRecord& options, const BindContext& context) {
  FOREBAY_TRY(std::vector<std::string> files, source_files(options.files, context));
  const Framing framing{.max_record_bytes = options.max_record_bytes,
                        .tolerate_partial_header = options.tolerate_partial_header,
                        .allow_trailing_zeros = options.allow_trailing_zeros};
  return Source{.files = std::move(files),
                .compression = options.compression,
                .format = tfrecord_format(framing),
                .max_decompressed_bytes = options.max_decompressed_bytes,
                .signature = tfrecord_signature(framing),
                .record_key = options.record_key};
}

}  // namespace

std::string tfrecord_signature(Framing framing) {
  return fmt::format("tfrecord max_record_bytes={}{}{}", framing.max_record_bytes,
                     framing.tolerate_partial_header ? " tolerate_partial_header" : "",
                     framing.allow_trailing_zeros ? " allow_trailing_zeros" : "");
}

std::shared_ptr<const Format> tfrecord_format(Framing framing) { return std::make_shared<TfrecordFormat>(framing); }

SourceType tfrecord() {
  return describe<SourceType, TfRecord>("tfrecord", "Reads the records of TFRecord files, checksums verified.", bind)
      .required("files", &TfRecord::files, "Paths and patterns (*, ?, [a-z]; path@N names N shards), in this order.")
      .field("compression", &TfRecord::compression, "How whole files are compressed; auto looks at their first bytes.")
      .field("max_record_bytes", &TfRecord::max_record_bytes, "A longer record is an error, before memory is taken.",
             {.min = 1, .max = max_record_bytes})
      .field("max_decompressed_bytes", &TfRecord::max_decompressed_bytes,
             "A compressed file that holds more than this is an error, once that many bytes were decompressed.",
             {.min = 1})
      .field("tolerate_partial_header", &TfRecord::tolerate_partial_header,
             "A file that ends inside the header of a record ends before it: for files still being written.")
      .field("allow_trailing_zeros", &TfRecord::allow_trailing_zeros,
             "Zero bytes after the last record, or after the end of compressed data, are padding and not an error.")
      .field("record_key", &TfRecord::record_key, record_key_doc)
      .example({.options = R"({"files": ["in.tfrecord"]})",
                .in = R"(["one", "", "three"])",
                .out = R"(["one", "", "three"])"})
      .example({.options = R"({"files": ["in.tfrecord"], "compression": "gzip"})",
                .in = R"(["a", "b"])",
                .out = R"(["a", "b"])"})
      .example({.options = R"({"files": ["in.tfrecord"], "compression": "zlib"})",
                .in = R"(["a", "b"])",
                .out = R"(["a", "b"])"})
      .example({.options = R"({"files": ["in.tfrecord"], "compression": "zstd"})",
                .in = R"(["a", "b"])",
                .out = R"(["a", "b"])"})
      .example({.options = R"({"files": ["in.tfrecord"]})", .in = "[]", .out = "[]"});
}

}  // namespace forebay::sources
