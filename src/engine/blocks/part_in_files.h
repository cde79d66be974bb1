// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <forebay/rows.h>

#include "engine/memory/buffer_pool.h"
#include "engine/read/mapped_file.h"
#include "engine/requests/requests.h"

namespace forebay::engine {

/// The files of a part whose rows a run maps (RowPart::map).
///
///     file       plain, or stored in an archive ──► mapped: pages of the page cache, no memory of the pool
///                compressed                     ──► mapped while it is decompressed into memory of the pool
///                of another machine             ──► fetched into memory of the pool, and decompressed there
///
/// Owned by ResidentRows and used by the order plane only, but for `cut`, which any thread may call.
class PartInFiles final : public PartFiles {
 public:
  /// Memory of all parts of a run that are not mapped, the pool that it counts in, and what fetches files of other
  /// machines.
  struct Memory {
    std::shared_ptr<BufferPool> pool;
    std::shared_ptr<Requests> requests;
    std::int64_t taken = 0;
  };
  explicit PartInFiles(Memory& memory) : memory_{memory} {}

  /// Makes the rows, and looks whether all bytes that were read are of one version of each file.
  [[nodiscard]] Result<std::shared_ptr<const RowBlock>> open(const RowPart& part);
  /// The path of a file that was cut short, as a read has met; null: there is none.
  [[nodiscard]] const std::string* cut() const;
  /// Fails with Code::data when a mapped file is not the version that was mapped.
  [[nodiscard]] Result<void> unchanged() const;
  /// Gives the mapped pages back to the system. They may be read again.
  void forget() const;
  [[nodiscard]] std::int64_t mapped_bytes() const;

  // The functions of PartFiles, for the part.
  Result<Bytes> map(const std::string& path) override;
  Result<std::shared_ptr<std::byte>> memory(std::int64_t bytes) override;
  void look() const override { memory_.pool->look(); }

 private:
  struct Mapped {
    std::string path;
    std::shared_ptr<MappedFile> file;
  };
  [[nodiscard]] Result<Bytes> copy(const io::File& file);
  [[nodiscard]] Result<Bytes> fetch(FileSystem& system, const std::string& path);

  Memory& memory_;
  std::vector<Mapped> files_;
};

}  // namespace forebay::engine
