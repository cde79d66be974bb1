// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/read/file_reader.h"
#include "sources/framing.h"
#include "tests/io/files.h"
#include "tests/sources/frames.h"

/// Scanning corrupt files for tests.
namespace forebay::engine {

/// One piece of a file as a scan with Corruption::find sees it; pieces come in the order of the file.
struct Stretch {
  enum class What : std::uint8_t { good, bad, range };
  What what;
  std::int64_t offset, bytes;
  std::string payload = {};  ///< Payload of a good record.
  bool operator==(const Stretch&) const = default;
};

inline std::ostream& operator<<(std::ostream& out, const Stretch& piece) {
  constexpr const char* names[] = {"good", "bad", "range"};
  return out << names[static_cast<int>(piece.what)] << " " << piece.offset << " +" << piece.bytes << " "
             << ::testing::PrintToString(piece.payload.substr(0, 40));
}

struct Found {
  std::vector<Stretch> pieces;
  std::vector<std::string> reasons;
  std::string error;

  [[nodiscard]] std::vector<std::string> good() const {
    std::vector<std::string> out;
    for (const Stretch& piece : pieces)
      if (piece.what == Stretch::What::good) out.push_back(piece.payload);
    return out;
  }
  [[nodiscard]] std::vector<Stretch> skipped() const {
    std::vector<Stretch> out;
    for (const Stretch& piece : pieces)
      if (piece.what != Stretch::What::good) out.push_back(piece);
    return out;
  }
  /// Checks that the pieces follow each other from the beginning without a gap; returns their end.
  [[nodiscard]] std::int64_t end() const {
    std::int64_t end = 0;
    for (const Stretch& piece : pieces) {
      EXPECT_EQ(piece.offset, end) << ::testing::PrintToString(pieces);
      end = piece.offset + piece.bytes;
    }
    return end;
  }
};

struct Finding {
  Compression compression = Compression::automatic;
  RecordCheck check = {};
  sources::Framing framing = {};
};

inline void add_block(const Block& block, Found& found) {
  std::size_t next = 0;
  for (std::size_t i = 0; i <= block.records.size(); ++i) {
    bool bad = false;
    for (; next < block.skips.size() && block.skips[next].index == i; ++next) {
      const Skip& skip = block.skips[next];
      bad = skip.what == Skip::What::record;
      found.pieces.push_back({bad ? Stretch::What::bad : Stretch::What::range, skip.offset, skip.bytes});
      found.reasons.push_back(skip.error.text());
      EXPECT_EQ(skip.error.place().record, block.first_record + static_cast<std::int64_t>(i));
    }
    if (bad || i == block.records.size()) continue;
    const Extent extent = block.records[i];
    found.pieces.push_back({Stretch::What::good,
                            block.file_offset + extent.offset - 12,
                            std::int64_t{extent.length} + 16,
                            {reinterpret_cast<const char*>(block.base + extent.offset), extent.length}});
  }
  EXPECT_EQ(next, block.skips.size());
}

inline Found find(const std::string& path, const Finding& how = {}) {
  static const auto pool = std::make_shared<BufferPool>(std::int64_t{1} << 30);
  const Source source{{path}, how.compression, sources::tfrecord_format(how.framing)};
  PassCache kept{0};
  FileReader scanner{source, 0, pool, kept, Corruption::find, how.check};
  Found found;
  Block block;
  for (bool over = false; !over; over = block.last || block.error) {
    block.clear();
    scanner.scan(block);
    add_block(block, found);
    if (block.error) found.error = block.error->text();
  }
  return found;
}

}  // namespace forebay::engine
