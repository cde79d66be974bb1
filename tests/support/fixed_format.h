// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <forebay/plugin.h>

/// A format for tests: records of one length, which may overlap and may have a trailer.
namespace forebay::testing {

struct FixedOptions {
  Paths files;
  Compression compression = Compression::automatic;
  std::int64_t record = 4;   ///< Bytes of a payload.
  std::int64_t hop = 4;      ///< Bytes from the beginning of a record to the beginning of the next.
  std::int64_t trailer = 0;  ///< Bytes after a payload; each must be the payload's first byte, inverted.
};

class FixedFormat final : public Format {
 public:
  explicit FixedFormat(const FixedOptions& options)
      : record_{static_cast<std::size_t>(options.record)},
        hop_{static_cast<std::size_t>(options.hop)},
        trailer_{static_cast<std::size_t>(options.trailer)} {}

  Result<Scanned> scan(std::span<const std::byte> bytes, std::int64_t, bool last, std::size_t limit,
                       std::vector<Extent>& records) const override {
    std::size_t at = 0;
    for (; at < limit && at + record_ + trailer_ <= bytes.size(); at += hop_)
      records.push_back({static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(record_)});
    if (at + record_ + trailer_ <= bytes.size()) return Scanned{.consumed = at};
    if (last) return Scanned{.consumed = bytes.size()};  // an incomplete record is ignored
    return Scanned{.consumed = std::min(at, bytes.size()), .wanted = record_ + trailer_};
  }

  Result<void> verify(std::span<const Record> records) const override {
    for (std::size_t i = 0; i < records.size(); ++i) {
      const std::byte expected = ~records[i].front();
      const std::span<const std::byte> trailer{records[i].data() + records[i].size(), trailer_};
      if (std::ranges::count(trailer, expected) == std::ssize(trailer)) continue;
      return Error{Code::data, Detail::data_loss, "wrong trailer", Place{.row = static_cast<std::int64_t>(i)}};
    }
    return {};
  }

  std::size_t trailer() const override { return trailer_; }

 private:
  const std::size_t record_, hop_, trailer_;
};

/// Registers the source "test_fixed" once.
inline void register_fixed() {
  static const bool done = [] {
    const auto bind = [](const FixedOptions& options, const BindContext&) -> Result<Source> {
      return Source{.files = options.files,
                    .compression = options.compression,
                    .format = std::make_shared<FixedFormat>(options),
                    .signature = "test_fixed " + std::to_string(options.record) + " " + std::to_string(options.hop) +
                                 " " + std::to_string(options.trailer)};
    };
    Registry::global().add(
        describe<SourceType, FixedOptions>("test_fixed", "Records of one length.", bind)
            .required("files", &FixedOptions::files, "Paths.")
            .field("compression", &FixedOptions::compression, "How the files are compressed.")
            .field("record", &FixedOptions::record, "Bytes of a record.", {.min = 1})
            .field("hop", &FixedOptions::hop, "Bytes from one record to the next.", {.min = 1})
            .field("trailer", &FixedOptions::trailer, "Bytes after a record.", {.min = 0})
            .example({.options = R"({"files": ["in"]})", .in = R"(["abcd"])", .out = R"(["abcd"])"}));
    return true;
  }();
  static_cast<void>(done);
}

}  // namespace forebay::testing
