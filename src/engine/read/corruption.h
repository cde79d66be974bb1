// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <forebay/plugin.h>

#include "engine/read/block.h"

namespace forebay::engine {

/// What a scan does with bytes that are no intact record.
enum class Corruption : std::uint8_t {
  fail,  ///< The scan ends with an error; payload checksums are left to whoever uses the records.
  find,  ///< Everything is verified here; what is corrupt stands in the block's skips, and the scan goes on.
};

/// A record that is intact but not what it should be.
struct Malformed {
  std::size_t record = 0;  ///< Index in what the check was given.
  Error error;
};
/// Appends what is wrong with the messages of intact records, by ascending index. Called once for a block.
using RecordCheck = std::function<void(std::span<const Record> records, std::vector<Malformed>& bad)>;

/// Finds the records in the bytes of one file, of which any may be corrupt. Windows come in the order of the file, each
/// from where the one before was dealt with to as far as the caller has read.
///
/// Which bytes are records does not depend on how they are cut into windows:
/// - A frame whose length cannot be (its checksum is wrong, or it is too large) ends the trust in lengths: the next
///   record is the next place where a whole frame has both checksums right. The bytes up to there are a range.
/// - A frame whose payload checksum is wrong is one bad record if a frame or the end follows where its length says. If
///   not, bytes were lost or added within it. Then a good frame that begins within it and ends behind it is the next
///   record, and what is before that a range; frames that lie wholly inside are taken for part of its payload.
/// - What the file ends in the middle of is a range up to the end.
class CorruptionFinder {
 public:
  CorruptionFinder(std::shared_ptr<const Format> format, RecordCheck check)
      : format_{std::move(format)}, check_{std::move(check)} {}

  struct Window {
    std::span<const std::byte> bytes;
    std::int64_t offset = 0;        ///< Of `bytes` in the (uncompressed) file.
    std::size_t limit = 0;          ///< Stops behind the record that reaches so many bytes.
    bool last = false;              ///< Nothing comes behind `bytes` …
    const Error* broken = nullptr;  ///< … because of this: even no bytes are then a range.
  };
  /// Appends to `records` and `skips`. As with Format::scan: the next window begins behind what is consumed, and has
  /// what is wanted. A last window without a limit is consumed to its end.
  Scanned find(const Window& window, std::vector<Extent>& records, std::vector<Skip>& skips);

 private:
  struct Pass;
  struct Lost {
    std::int64_t offset;
    Error error;
    bool padding;  // so far, what the format may take for padding
  };

  const std::shared_ptr<const Format> format_;
  const RecordCheck check_;
  std::optional<Lost> lost_;    // a range that has begun and whose end has not been found
  std::shared_ptr<void> kept_;  // the format's, for resync
  std::vector<Extent> probed_;
  std::vector<Record> payloads_;
  std::vector<Record> intact_;
  std::vector<std::size_t> indices_;
  std::vector<Malformed> malformed_;
};

}  // namespace forebay::engine
