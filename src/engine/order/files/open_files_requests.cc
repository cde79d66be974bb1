// SPDX-License-Identifier: Apache-2.0
// The functions of OpenFiles for files of a FileSystem, whose bytes are asked for before they are there.
#include <algorithm>

#include "engine/order/files/reader_state.h"
#include "stores/registry.h"

namespace forebay::engine {

std::unique_ptr<BlockReader> OpenFiles::reader_of(std::uint32_t part) {
  if (program_.source.files_a_part > 0)
    return std::make_unique<WholeFileReader>(program_, part, pool_, versions_, requests_);
  auto out = std::make_unique<FileReader>(program_.source, part, pool_, pass_cache_, corruption_of(program_));
  out->remember(versions_);
  out->share(requests_);
  return out;
}

/// As many files of a FileSystem are opened ahead as there are requests: each may be smaller than a range.
std::int64_t OpenFiles::files_ahead() const {
  if (program_.source.rows) return program_.source.rows->ahead ? 1 : 0;
  const std::int64_t usual = means_.threads > 1 ? 2 * means_.threads : 0;
  const bool requests =
      !program_.source.files.empty() && stores::file_system_of(program_.source.files.front()) != nullptr;
  return requests ? std::max(usual, requests_->max_requests()) : usual;
}

Error OpenFiles::nothing_yet(const char* what) {
  interrupted_ = starved_ = true;
  return {Code::cancelled, what};
}

/// Whether a scan has filled nothing because the file's bytes have not come yet.
bool OpenFiles::nothing_came(const ReaderState& file, const Block& block) {
  return block.records.empty() && block.skips.empty() && !block.last && !block.error && !file.scanner->ready();
}

}  // namespace forebay::engine
