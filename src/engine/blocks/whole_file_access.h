// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include <forebay/order.h>

#include "engine/blocks/block_table.h"
#include "engine/program/program.h"
#include "engine/read/whole_file_reader.h"

namespace forebay::engine {

/// Random access to the records of a source whose records are whole files. It needs no index: the number of files is
/// known, and a handle's ordinal is the number of its file in the source's list.
///
/// A member of OpenFiles. The order plane calls it, so one thread at a time.
class WholeFileAccess {
 public:
  /// `program`, the versions and the table must outlive this object.
  WholeFileAccess(const Program& program, std::shared_ptr<BufferPool> pool, FileVersions& versions, BlockTable& table)
      : program_{program}, pool_{std::move(pool)}, table_{table}, files_{program.source, *pool_, versions} {}

  /// Numbers of files of these parts. Fails with Code::config when the program may skip: no file has been looked at.
  [[nodiscard]] Result<std::vector<std::int64_t>> count(std::span<const std::uint32_t> parts) const;
  /// Fills `out` with the handles of files. Reads nothing, so their lengths are 0.
  void locate(std::span<const RecordName> names, std::span<Handle> out);
  /// Reads the files of a batch that are not in memory, in the order of the list, and changes their handles to those of
  /// the bytes. Fails with the error of a file, with Code::data, resource_exhausted, when the files take more than the
  /// memory budget, and with Code::cancelled when `go_on` returns false. Files that were read stay; the call may be
  /// repeated.
  [[nodiscard]] Result<void> fetch(std::span<Handle> handles, const std::function<bool()>& go_on);
  /// Returns the number of bytes that `fetch` has read since the last call.
  [[nodiscard]] std::int64_t take_bytes_read() { return std::exchange(bytes_read_, 0); }

 private:
  [[nodiscard]] Result<std::size_t> fetch_block(std::span<Handle* const> handles);

  const Program& program_;
  const std::shared_ptr<BufferPool> pool_;
  BlockTable& table_;
  WholeFiles files_;
  std::uint32_t slot_ = BlockTable::nowhere;  // of the files that are not in memory
  std::int64_t bytes_read_ = 0;
};

}  // namespace forebay::engine
