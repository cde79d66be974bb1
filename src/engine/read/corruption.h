// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <forebay/plugin.h>

#include "engine/read/block.h"

namespace forebay::engine {

/// What a scan does with bytes that are not an intact record.
enum class Corruption : std::uint8_t {
  fail,  ///< The scan ends with an error. Payload checksums are verified later, by the tickets.
  find,  ///< All checksums are verified here. Corrupt records go to the block's skips, and the scan continues.
};

/// A record with right checksums whose message is malformed.
struct Malformed {
  std::size_t record = 0;  ///< Index in the `records` of the check.
  Error error;
};
/// Looks into the intact records of a block after they were found. It finds malformed ones and computes the attributes
/// that the order needs. It owns what it keeps from block to block: one thread at a time uses it, for any blocks.
struct RecordCheck {
  /// Appends the malformed ones of these records to `bad`, by ascending index. Sets the attributes of the others in
  /// `attributes`, which has room for all records. Throws as its StopCheck does.
  using Run = std::function<void(std::span<const Record> records, std::vector<Malformed>& bad,
                                 std::span<std::int64_t> attributes)>;
  Run run = {};                ///< Unset: nothing is checked.
  std::size_t attributes = 0;  ///< Integers for each record.
  /// Set when the orders need integers of frames: gives those of the records of the last `run`.
  std::function<std::shared_ptr<FrameLists>()> frame_lists = {};
  /// Set when the tickets take from decoded blocks: gives the records of the last `run`, without rows when one of them
  /// was malformed or the budget had no room.
  std::function<DecodedRecords()> decoded = {};

  /// Keeps what the last `run` has decoded, if these are all records of the block.
  void keep_decoded(Block& block) const;
};

/// Finds the records in the bytes of one file, any of which may be corrupt. A FileReader owns it and calls it from one
/// thread at a time. It passes windows in the order of the file; each begins at the first byte that was not consumed.
/// Corrupt bytes are results, not errors.
///
/// The found records do not depend on how the bytes are cut into windows:
///
/// * Wrong length checksum, or a length that is too large: a range of bytes is skipped, up to the next place where a
///   whole frame has both checksums right.
/// * Wrong payload checksum, and a frame or the end follows: this one record is skipped.
/// * Wrong payload checksum, and no frame follows: bytes were lost or added. A range is skipped, up to a good frame
///   that begins inside the record and ends after it. Frames that lie wholly inside count as part of its payload.
/// * The file ends inside a frame: a range is skipped up to the end.
class CorruptionFinder {
 public:
  explicit CorruptionFinder(std::shared_ptr<const Format> format) : format_{std::move(format)} {}

  struct Window {
    std::span<const std::byte> bytes;
    std::int64_t offset = 0;        ///< Offset of `bytes` in the (uncompressed) file.
    std::size_t limit = 0;          ///< Stops after the record that reaches this number of bytes.
    bool last = false;              ///< The file ends after `bytes`.
    const Error* broken = nullptr;  ///< Set: a fault ends the file here. It is reported as a range, even of 0 bytes.
  };
  /// Appends to `records` and `skips`. As with Format::scan, the next window begins after the consumed bytes and has at
  /// least the wanted ones. A last window without a limit is consumed to its end.
  Scanned find(const Window& window, std::vector<Extent>& records, std::vector<Skip>& skips);

 private:
  struct Pass;
  struct Lost {
    std::int64_t offset;
    Error error;
    bool padding;  // all bytes of the range so far may be padding of the format
  };

  const std::shared_ptr<const Format> format_;
  std::optional<Lost> lost_;        // a range whose end is not found yet; it may begin in an earlier window
  std::shared_ptr<void> kept_;      // memory of Format::resync for this file
  std::shared_ptr<void> compared_;  // and of Format::compare
  // The lists below are used in one call and stay allocated for the next.
  std::vector<Extent> probed_;
  std::vector<Record> payloads_;
};

/// Looks into the intact records of a block that a CorruptionFinder filled: adds a skip for each malformed one, with
/// its place in the file `path`, and sets the attributes. Throws as the RecordCheck does. Thread-safe for different
/// blocks.
void check_messages(const Format& format, const RecordCheck& check, const std::string& path, Block& block);

}  // namespace forebay::engine
