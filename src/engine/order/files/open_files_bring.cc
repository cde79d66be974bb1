// SPDX-License-Identifier: Apache-2.0
// The functions of OpenFiles that read the whole files of a batch whose order is decided.
#include <algorithm>
#include <utility>

#include "engine/order/files/reader_state.h"
#include "engine/read/whole_file_reader.h"

namespace forebay::engine {

namespace {

constexpr std::size_t min_pile = std::size_t{64} << 10;  // bytes of a block

Error not_all_read() { return {Code::internal, "the files of a batch were not all read"}; }

}  // namespace

/// Reads the files of a batch that are not in memory, in the order of the list, and changes their handles to those of
/// the bytes. All threads help: opening a file may take long. Fails with the error of the first file that has one. A
/// call that was interrupted is repeated with the same handles.
///
///     files of the batch  3 8 9 │ 11 20 21 │ 30 31     a list for each thread: a ReaderState that others may claim
///                         └──────── wait_for_block, list by list: the copies enter the table ────────┘
Result<void> OpenFiles::bring_files(std::span<Handle> handles) {
  const std::vector<Handle*> absent = whole_files_.absent(handles);
  if (absent.empty()) return {};
  if (bringing_.empty()) begin_bringing(WholeFileAccess::numbers(absent));
  auto done = bring_rest(absent);
  if (!done.ok() && !interrupted(done.error())) stop_bringing();
  if (done.ok() && !whole_files_.absent(handles).empty()) return not_all_read();
  return done;
}

void OpenFiles::begin_bringing(std::span<const std::uint32_t> files) {
  brought_ = 0;
  bringing_count_ = files.size();
  const std::size_t lists = std::min(files.size(), static_cast<std::size_t>(std::max<std::int64_t>(1, means_.threads)));
  const std::size_t pile = std::max(min_pile, WholeFiles::usual_pile / lists);
  for (std::size_t i = 0; i < lists; ++i) {
    const std::size_t from = files.size() * i / lists, to = files.size() * (i + 1) / lists;
    std::vector<std::uint32_t> some(files.begin() + static_cast<std::ptrdiff_t>(from),
                                    files.begin() + static_cast<std::ptrdiff_t>(to));
    auto reader = std::make_unique<ListedFileReader>(program_.source, std::move(some), pool_, versions_, requests_,
                                                     pile, whole_files_.asked());
    bringing_.push_back(std::make_shared<ReaderState>(program_, 0, std::move(reader)));
    bringing_.back()->brings = true;
  }
  {
    const Lock lock{mutex_};
    waiting_.insert(waiting_.begin(), bringing_.begin(), bringing_.end());
  }
  for (std::size_t i = 1; i < lists && wake_; ++i) wake_();
}

Result<void> OpenFiles::bring_rest(std::span<Handle* const> absent) {
  while (!bringing_.empty()) {
    if (interrupt()) return Error{Code::cancelled, "interrupted"};
    ReaderState& list = *bringing_.front();
    FOREBAY_TRY(std::unique_ptr<Block> block, wait_for_block(list));
    if (!block) return not_all_read();
    const std::optional<Error> failed = block->error;
    const bool last = block->last;
    const std::uint32_t first = absent.empty() ? 0 : absent.front()->ordinal;
    brought_ += block->file_end;
    absent = absent.subspan(whole_files_.take(std::move(block), absent));
    if (failed) return *failed;
    if (brought_ > pool_->limit()) return whole_files_.too_large(bringing_count_, first);
    if (!last) continue;
    leave(list);
    bringing_.pop_front();
  }
  return {};
}

void OpenFiles::stop_bringing() {
  for (const auto& list : bringing_) leave(*list);
  bringing_.clear();
}

}  // namespace forebay::engine
