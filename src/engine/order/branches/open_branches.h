// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/order/files/open_files.h"
#include "engine/order/open_parts.h"

namespace forebay::engine {

/// The open parts of all branches of a combination: one OpenFiles, with its own block table, for each branch.
///
/// A handle after the combination names its branch in the upper 8 bits of `block`; the rest is the handle of the
/// branch. Side by side, a handle is the number of a row of this object, which holds one handle of each branch.
///
///     one of several:  block = | branch: 8 bits | slot in the branch's table: 24 bits |, ordinal, offset, length
///     side by side:    ordinal = row n ─► rows_[n × branches … ] = the handles of row n, and how often it is held
///
/// Owned by the Scheduler. The threads that may call are those of OpenParts.
class OpenBranches final : public OpenParts {
 public:
  static constexpr std::size_t max_branches = 255;

  OpenBranches(const Program& program, const std::shared_ptr<BufferPool>& pool, const RunMeans& means,
               const std::function<void()>& wake);

  static constexpr std::uint32_t slot_bits = 24;
  static constexpr std::uint32_t max_slot = (std::uint32_t{1} << slot_bits) - 1;

  /// The handle of an element of branch `branch`, whose slot is at most `max_slot`.
  [[nodiscard]] static Handle of_branch(Handle handle, std::size_t branch) {
    handle.block |= static_cast<std::uint32_t>(branch) << slot_bits;
    return handle;
  }
  [[nodiscard]] static Error too_many_blocks();  ///< Code::data, resource_exhausted: a slot is larger.
  /// The handle of a row that has one element of every branch.
  [[nodiscard]] Result<Handle> side_by_side(std::span<const Handle> row);

  /// Calls `use` with each branch and the handle of the branch, for every handle of a combination.
  template <class Use>
  void each(std::span<const Handle> handles, Use use) const {
    for (const Handle& handle : handles) {
      if (handle.block == BlockTable::nowhere) continue;
      if (!side_by_side_) {
        use(branch_of(handle), without_branch(handle));
        continue;
      }
      for (std::size_t i = 0; i < branches_.size(); ++i) use(i, rows_[handle.ordinal * branches_.size() + i]);
    }
  }
  /// Side by side, the number of branches; else 1.
  [[nodiscard]] std::size_t elements_a_row() const { return side_by_side_ ? branches_.size() : 1; }

  // The functions of OpenParts and Reader. A combination has no files of its own: those for files fail.
  OpenFiles& branch(std::size_t number) override { return *branches_[number]; }
  Result<Function::Integers> call(const AskedFunction& asked, std::span<const std::int64_t> question) override {
    return branches_.front()->call(asked, question);
  }
  Stream open(Handle) override { return 0; }
  Result<std::size_t> read(Stream, std::span<Handle>) override { return no_files(); }
  bool ready(Stream) override { return true; }
  void close(Stream) override {}
  std::int64_t files_ahead() const override { return 0; }
  Result<std::vector<std::int64_t>> index(std::span<const Handle>) override { return no_files(); }
  Result<std::vector<std::int64_t>> count(std::span<const Handle>) override { return no_files(); }
  Result<void> locate(std::span<const RecordName>, std::span<Handle>) override { return no_files(); }
  void drop(std::span<const Handle> records) override;
  void hold(std::span<const Handle> records) override;
  Result<std::shared_ptr<void>> charge(std::int64_t bytes) override { return branches_.front()->charge(bytes); }
  Result<bool> fetch(std::span<Handle> handles) override;
  std::int64_t window() const override { return branches_.front()->window(); }
  void catch_up(bool catching_up) override;
  void begin_batch(std::int64_t number) override;
  // The passes of the branches are counted by branch (BranchStream).
  double files_done() const override { return 0; }
  std::optional<std::int64_t> indexed() const override { return std::nullopt; }
  std::int64_t judged() const override { return 0; }
  void begin_pass(std::int64_t) override {}
  Result<void> end_pass() const override { return {}; }
  Result<bool> end_run(Deadline deadline) override;
  void set_deadline(Deadline deadline) override;
  bool starved() const override;
  bool interrupted(const Error& error) const override;
  Result<void> hand_over(BatchLayout& layout, std::int64_t batch) override;
  Expected expect_batch(std::span<const Handle> rows) override;
  Result<void> prepare() override;
  void collect(std::int64_t finished) override;
  void collect() override;
  void limit_memory() override;
  void close_readers() override;

  std::uint32_t number_of(const ReaderState& file) const override;
  std::shared_ptr<ReaderState> claim(bool soon) override;
  void scan(const std::shared_ptr<ReaderState>& file) override;
  bool keeps_content() const override;
  void drop_kept_content() override;
  std::string take_notice() override;
  void stop() override;
  std::vector<std::int64_t> sizes() const override;
  std::int64_t records() const override;
  std::int64_t bytes_read() const override;
  ShardReading reading() const override;
  std::int64_t row_bytes() const override;
  SkipTally::Counts skipped() const override;
  std::vector<const OpenParts*> branches() const override;
  RequestStats requests() const override;
  std::string oldest_request() const override;

 private:
  static Error no_files();
  static std::size_t branch_of(const Handle& handle) { return handle.block >> slot_bits; }
  static Handle without_branch(Handle handle) {
    handle.block &= max_slot;
    return handle;
  }
  /// Fills `sorted_` with the handles of each branch.
  void sort(std::span<const Handle> handles);
  void release_row(std::uint32_t row);
  void keep_fetched(std::span<const Handle> rows);
  void deal(BatchLayout& layout);
  void deal_by_turns(BatchLayout& layout);
  void deal_side_by_side(BatchLayout& layout);

  const bool side_by_side_;
  const std::shared_ptr<BufferPool> pool_;
  std::vector<std::unique_ptr<OpenFiles>> branches_;
  std::vector<std::size_t> first_file_;  // by branch: the number of its first file in the list of all
  // Used by the order plane only.
  std::vector<std::vector<Handle>> sorted_;  // scratch, by branch
  std::vector<std::size_t> dealt_to_;        // scratch, by branch
  std::vector<Handle> rows_;                 // side by side: the handles of row n from n × branches on
  std::vector<std::uint32_t> held_;          // by row: how often it is held; 0: free
  std::vector<std::uint32_t> free_rows_;
  Charge row_charge_;
  bool dealt_ = false;      // the layout that is handed over has the rows of each branch
  std::size_t handed_ = 0;  // branches whose rows were handed over
  // Used by all threads.
  std::atomic<std::size_t> turn_{0};  // the branch that `claim` asks first
};

}  // namespace forebay::engine
