// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <forebay/order.h>

#include "engine/blocks/block_table.h"
#include "engine/memory/buffer_pool.h"
#include "engine/program/program.h"
#include "engine/requests/asked_files.h"

namespace forebay::engine {

/// Random access to the records of a source whose records are whole files. It needs no index: the number of files is
/// known, and a handle's ordinal is the number of its file in the source's list.
///
/// A member of OpenFiles. The order plane calls it, so one thread at a time.
class WholeFileAccess {
 public:
  /// `program` and the table must outlive this object.
  WholeFileAccess(const Program& program, std::shared_ptr<BufferPool> pool, BlockTable& table,
                  const std::shared_ptr<Requests>& requests);

  /// Numbers of files of these parts. Fails with Code::config when the program may skip: no file has been looked at.
  [[nodiscard]] Result<std::vector<std::int64_t>> count(std::span<const std::uint32_t> parts) const;
  /// Fills `out` with the handles of files. Reads nothing, so their lengths are 0.
  void locate(std::span<const RecordName> names, std::span<Handle> out);
  /// The handles of files that are not in memory, by number of the file.
  [[nodiscard]] std::vector<Handle*> absent(std::span<Handle> handles) const;
  /// The numbers of these files, each once.
  [[nodiscard]] static std::vector<std::uint32_t> numbers(std::span<Handle* const> absent);
  /// Takes over a block of the first of these files (ListedFileReader), and changes their handles to those of the
  /// bytes. Returns the number of such handles.
  std::size_t take(std::unique_ptr<Block> block, std::span<Handle* const> absent);
  /// Asks for the files of these handles that come from other machines, and does not wait. Returns their bytes, as far
  /// as versions are known, and whether all of these were asked for.
  [[nodiscard]] AskedFiles::Asked expect(std::span<const Handle> handles);
  void forget(std::span<const Handle> handles);  ///< Nobody needs them any more.
  [[nodiscard]] const std::shared_ptr<AskedFiles>& asked() const { return asked_; }
  /// The error of a batch whose files have more bytes than the memory budget.
  [[nodiscard]] Error too_large(std::size_t files, std::uint32_t last) const;

 private:
  const Program& program_;
  const std::shared_ptr<BufferPool> pool_;
  BlockTable& table_;
  const std::shared_ptr<AskedFiles> asked_;
  std::uint32_t slot_ = BlockTable::nowhere;  // of the files that are not in memory
};

}  // namespace forebay::engine
