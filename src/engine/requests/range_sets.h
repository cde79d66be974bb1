// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <forebay/order.h>

#include "engine/requests/requested_file.h"

namespace forebay::engine {

/// The ranges that sets of records need, asked for before the records are read. A set is recognised by its handles.
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
  class Set {
   public:
    [[nodiscard]] bool all_ready();
    /// The file with the bytes that were asked for; null: none were.
    [[nodiscard]] const RequestedFile* file(std::uint32_t number) const;

   private:
    friend class RangeSets;
    bool same(std::span<const Handle> handles) const;
    std::vector<Handle> ends_;  // the first and the last handle
    std::size_t count_ = 0;
    std::map<std::uint32_t, std::unique_ptr<RequestedFile>> files_;
  };

  [[nodiscard]] Requests& requests() { return *requests_; }
  /// The set of these handles; null: there is none.
  [[nodiscard]] Set* find(std::span<const Handle> handles);
  /// Asks for the pieces. Those that are near each other become one request, and large ones several.
  Set& add(std::span<const Handle> handles, std::vector<Piece> pieces);
  void drop_to(const Set& set);  ///< Drops a set and those that were added before it.

 private:
  void want(Set& set, const Piece& piece);
  void share(Set& set, const Piece& piece);
  const std::shared_ptr<Requests> requests_;
  std::deque<Set> sets_;
  std::map<std::pair<std::uint32_t, std::int64_t>, std::shared_ptr<Request>> kept_;  // by file and offset
};

}  // namespace forebay::engine
