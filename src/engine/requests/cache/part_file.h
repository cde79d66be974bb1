// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <forebay/error.h>

#include "engine/requests/cache/part_key.h"

namespace forebay::engine {

constexpr std::size_t part_blocks = 16;  // of a part; each has a checksum

/// A row of the table: what a slot has.
struct PartEntry {
  enum class State : std::uint32_t { free, claimed, kept };
  PartKey key = {};
  std::uint64_t ticket = 0;  ///< Of this content.
  std::uint64_t run = 0;     ///< Which used it last.
  std::uint64_t next = 0;    ///< PartTimes::next of that run.
  std::int64_t since = 0;    ///< When a process claimed it, or read it first in a pass: milliseconds since 1970.
  State state = State::free;
  std::uint32_t chain = 0;  ///< The next slot of the same bucket, plus one; 0: none.
  std::uint32_t bytes = 0;
  std::uint32_t readers = 0;  ///< Processes of the run that have yet to read it in this pass.
  std::array<std::uint32_t, part_blocks> checksums = {};
};

/// The state of a table that all processes share.
struct PartCounts {
  struct User {
    std::uint64_t run = 0;
    std::uint64_t process = 0;
    std::int64_t seen = 0;  ///< Milliseconds since 1970.
  };
  std::uint32_t changing = 0;  ///< A process changes the table, or was killed while it did.
  std::uint32_t used = 0;      ///< Slots from this one on were never used.
  std::uint64_t changes = 0;   ///< Of entries, by all processes.
  std::array<User, 128> users = {};
};

/// The file of a cache: its lock, its table and its slots, by number. It has the byte order of the machine.
///
///     shape · counts ─ 4 KiB ─ an entry for each slot ─ a bucket for each slot ─ the slots, one after the other
///
/// Nothing is mapped. A call that fails turns the file off: every later one gives zeros and writes nothing.
///
/// One thread at a time calls, but for `read` and `write`.
class PartFile {
 public:
  static constexpr std::int64_t min_part = std::int64_t{64} << 10, max_part = std::int64_t{1} << 20;  ///< Bytes.
  static constexpr std::int64_t min_bytes = min_part;                                                 ///< Of all slots.

  /// The sizes of the file. They stay while a process uses it.
  struct Shape {
    std::array<char, 8> magic;
    std::uint32_t part_bytes;
    std::uint32_t slots;
    std::uint32_t checksum;  // of the members above
    bool operator==(const Shape&) const = default;
  };

  /// As PartTable::open.
  [[nodiscard]] static Result<std::unique_ptr<PartFile>> open(const std::string& folder, std::int64_t bytes,
                                                              std::string& notice);
  PartFile(int file, const Shape& shape) : file_{file}, shape_{shape} {}  ///< An open file, which it closes.
  ~PartFile();
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;

  [[nodiscard]] std::int64_t part_bytes() const { return shape_.part_bytes; }
  [[nodiscard]] std::uint32_t slots() const { return shape_.slots; }

  /// Locks the table for this process. False: another one has it, or the file is off.
  [[nodiscard]] bool lock();
  void unlock();
  [[nodiscard]] PartCounts counts();
  void put(const PartCounts& counts);
  [[nodiscard]] PartEntry entry(std::uint32_t slot);
  void put(std::uint32_t slot, const PartEntry& entry);
  [[nodiscard]] std::uint32_t bucket(std::uint32_t number);  ///< The first slot of a chain, plus one; 0: none.
  void put_bucket(std::uint32_t number, std::uint32_t first);

  /// False: fewer bytes are there, or the disk has a fault. Any thread may call these two.
  [[nodiscard]] bool read(std::uint32_t slot, std::int64_t from, std::span<std::byte> out) const;
  [[nodiscard]] bool write(std::uint32_t slot, std::span<const std::byte> bytes) const;

  void turn_off(std::string why);
  [[nodiscard]] const std::string& fault() const { return fault_; }  ///< Empty: the file is on.

 private:
  static Shape shape_of(std::int64_t bytes);
  static Result<Shape> agree(int file, const std::string& path, std::int64_t bytes, std::string& notice);
  static Result<void> make(int file, const std::string& path, const Shape& shape);
  [[nodiscard]] static std::int64_t buckets_at(const Shape& shape);
  [[nodiscard]] static std::int64_t slots_at(const Shape& shape);
  [[nodiscard]] std::int64_t slot_at(std::uint32_t slot) const;
  template <class Value>
  [[nodiscard]] Value get(std::int64_t at);
  template <class Value>
  void set(std::int64_t at, const Value& value);

  const int file_;
  const Shape shape_;
  std::string fault_;
};

}  // namespace forebay::engine
