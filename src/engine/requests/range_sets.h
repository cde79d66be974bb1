// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "engine/requests/requested_file.h"

namespace forebay::engine {

/// The ranges that sets of records need, asked for before the records are read.
///
///     expect: add ─► requests in flight ─► fetch: find, all_ready ─► bytes of each file ─► drop_to
///
/// Pieces of compressed files are kept when their set is dropped: the next set needs most of them again.
///
/// Used by the order plane only.
class RangeSets {
 public:
  static constexpr std::int64_t max_hole = std::int64_t{64} << 10;  ///< Bytes between two pieces of one request.
  explicit RangeSets(std::shared_ptr<Requests> requests) : requests_{std::move(requests)} {}

  struct Piece {
    std::uint32_t file = 0;
    std::shared_ptr<const RequestTarget> target;
    io::ByteRange range;
    bool keep = false;  ///< Until this object goes.
  };
  /// By which a set is recognised: the records that it has.
  struct Key {
    std::uint64_t hash = 0;  // of their files and numbers
    std::size_t count = 0;
    bool operator==(const Key&) const = default;
  };
  class Set {
   public:
    [[nodiscard]] bool all_ready();
    /// The file with the bytes that were asked for; null: none were.
    [[nodiscard]] const RequestedFile* file(std::uint32_t number) const;

   private:
    friend class RangeSets;
    Key key_;
    std::map<std::uint32_t, std::unique_ptr<RequestedFile>> files_;
  };

  [[nodiscard]] Requests& requests() const { return *requests_; }
  [[nodiscard]] Set* find(const Key& key);  ///< Null: there is none.
  /// Asks for the pieces. Those that are near each other become one request, and large ones several.
  Set& add(const Key& key, std::vector<Piece> pieces);
  void drop_to(const Set& set);  ///< Drops a set and those that were added before it.

 private:
  void want(Set& set, const Piece& piece);
  void share(Set& set, const Piece& piece);
  const std::shared_ptr<Requests> requests_;
  std::deque<Set> sets_;
  std::map<std::pair<std::uint32_t, std::int64_t>, std::shared_ptr<Request>> kept_;  // by file and offset
};

}  // namespace forebay::engine
