// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/index/attribute_column.h"
#include "engine/index/index_file.h"
#include "engine/program/program.h"
#include "engine/read/block.h"
#include "engine/read/file_versions.h"

namespace forebay::engine {

/// The index of one file for a program, and its share of the budget.
struct MadeIndex {
  std::shared_ptr<const RecordIndex> index;  ///< Null when it was not made.
  std::int64_t size = unknown_size;          ///< Of the file, as for a state (FileVersions::sizes).
  std::vector<AttributeColumn> attributes;   ///< Those of Program::early, by record of the index.
  std::vector<Skip> skips;       ///< Corrupt records and ranges that the index leaves out, if they may be skipped.
  std::shared_ptr<void> charge;  ///< The share of the budget that the index and the attributes take.

  /// Bytes of the index and of the attributes in memory. Mapped attributes take none.
  [[nodiscard]] std::int64_t bytes() const {
    std::int64_t out = std::ssize(index->image());
    for (const AttributeColumn& column : attributes) out += column.owned();
    return out;
  }
};

/// Where the skips of a file lie among the records of an index that leaves them out.
struct SkipPlaces {
  std::vector<std::int64_t> before;    ///< By skip: the number of records of the index that come before it.
  std::vector<std::int64_t> left_out;  ///< The numbers in the file of the records that are skipped, ascending.
};
/// `skips` are in the order of the file, as those of `load_made`.
[[nodiscard]] SkipPlaces places_of(const RecordIndex& index, std::span<const Skip> skips);

/// EntryKey::made_by of the index that the program needs of a file.
[[nodiscard]] std::uint64_t index_key(const Program& program);

/// The entries that the program needs of a file. Empty: they cannot be stored.
[[nodiscard]] std::vector<EntryKey> stored_keys(const Program& program);

/// The records of the index for which all of these attributes are not 0.
[[nodiscard]] std::int64_t records_with(const MadeIndex& made, std::span<const std::size_t> attributes);

/// Whether an index for the program depends on the content of the records: on attributes, or on which are corrupt.
[[nodiscard]] inline bool looks_into_records(const Program& program) {
  return skips_early(program.on_corrupt) || !program.early.empty();
}

/// The stored index with all attributes of the program, and with the skips of its policy. Empty when a part of it is
/// not stored, is corrupt, or is of another version of the file.
[[nodiscard]] std::optional<MadeIndex> load_made(const Program& program, const IndexRequest& request);

/// Stores the index, the attributes and the skips under the keys of the program. Returns the path of the store; an
/// empty one for a program whose attributes have no key, and for skips that are the fault of a plug-in. Fails with
/// Code::io, and when the stored index is of a newer version.
Result<std::string> store_made(const Program& program, const IndexRequest& request, const MadeIndex& made);

}  // namespace forebay::engine
