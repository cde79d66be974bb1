// SPDX-License-Identifier: Apache-2.0
#include "engine/order/shards/own_files.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/core.h>

namespace forebay::engine {

namespace {

Error no_own_files(std::string message) { return Error{Code::config, Detail::invalid_argument, std::move(message)}; }

/// `where`: "", or the branch with a colon.
Error too_few_files(std::int64_t files, std::int64_t count, std::string_view where, bool rows) {
  const std::string_view what = rows ? "part" : "file";
  return no_own_files(fmt::format(
      "shard: {}a pass goes through {} {}{}, which cannot be shared out among {} shards by file; take at most {}, "
      "write more files, or shard by rows",
      where, files, what, files == 1 ? "" : "s", count, files));
}

/// The last order of files: passes on the files of the shard.
class OwnFiles final : public Handles {
 public:
  OwnFiles(std::int64_t index, std::int64_t count, AllFiles all, std::unique_ptr<Handles> upstream, Reader& reader)
      : index_{index}, count_{count}, all_{std::move(all)}, upstream_{std::move(upstream)}, reader_{reader} {}

  void begin(std::int64_t epoch) override {
    files_.clear();
    listed_ = told_ = false;
    next_ = static_cast<std::size_t>(index_);
    upstream_->begin(epoch);
  }

  Result<std::size_t> pull(std::span<Handle> out) override {
    if (!listed_) FOREBAY_DO(list());
    if (!told_ && all_) FOREBAY_DO(all_(files_, reader_));
    told_ = true;
    std::size_t pulled = 0;
    for (; pulled < out.size() && next_ < files_.size(); next_ += static_cast<std::size_t>(count_))
      out[pulled++] = files_[next_];
    return pulled;
  }

 private:
  Result<void> list() {
    while (true) {
      Handle file;
      FOREBAY_TRY(const std::size_t count, upstream_->pull({&file, 1}));
      if (count == 0) break;
      files_.push_back(file);
    }
    if (std::ssize(files_) < count_) return too_few_files(std::ssize(files_), count_, "", false);
    listed_ = true;
    return {};
  }

  const std::int64_t index_;
  const std::int64_t count_;
  const AllFiles all_;
  const std::unique_ptr<Handles> upstream_;
  Reader& reader_;
  std::vector<Handle> files_;  // of all shards, in this pass
  bool listed_ = false;        // `files_` is whole
  bool told_ = false;          // `all_` was called
  std::size_t next_ = 0;
};

/// The numbers of records in the files of branches that lie side by side. Their rows belong together by place, so a
/// shard has the pairs of the whole run if all branches have as many in each file.
class SideFiles {
 public:
  explicit SideFiles(std::size_t branches) : records_(branches) {}

  Result<void> tell(std::size_t branch, std::vector<std::int64_t> records) {
    if (records_[branch]) std::ranges::fill(records_, std::nullopt);  // another pass
    for (std::size_t other = 0; other < records_.size(); ++other) {
      if (records_[other] && *records_[other] != records) return unlike(other, *records_[other], branch, records);
    }
    records_[branch] = std::move(records);
    return {};
  }

 private:
  static Error unlike(std::size_t a, const std::vector<std::int64_t>& of_a, std::size_t b,
                      const std::vector<std::int64_t>& of_b) {
    constexpr std::string_view advice =
        "so the rows of a shard by file would not be those that belong together; write files of equally many "
        "records, or shard by rows";
    if (of_a.size() != of_b.size())
      return no_own_files(fmt::format("shard: branch {} of `zip` has {} files and branch {} has {}, {}", a, of_a.size(),
                                      b, of_b.size(), advice));
    const auto at = std::ranges::mismatch(of_a, of_b);
    return no_own_files(
        fmt::format("shard: file {} of a pass has {} records in branch {} of `zip` and {} in branch {}, {}",
                    at.in1 - of_a.begin(), *at.in1, a, *at.in2, b, advice));
  }

  std::vector<std::optional<std::vector<std::int64_t>>> records_;  // by branch
};

/// Whether the rows of a branch are those of its files, in places that their number alone decides.
bool has_rows_by_place(const Program& branch) {
  const auto looks = [](const Ordering& order) { return order.selects || !order.attributes.empty() || order.asks; };
  return branch.branches.empty() && !branch.made && !branch.windows && branch.early.selecting == 0 &&
         !looks(branch.interleave) && std::ranges::none_of(branch.record_orders, looks) &&
         std::ranges::none_of(branch.file_orders, looks);
}

Result<void> check_files(const Program& program, std::int64_t count, const std::string& where) {
  if (program.made) return check_files(*program.made, count, where);
  const bool sides = !program.combining.make;
  for (std::size_t i = 0; i < program.branches.size(); ++i) {
    const Program& branch = program.branches[i];
    FOREBAY_DO(check_files(branch, count, fmt::format("{}branch {}: ", where, i)));
    if (!sides || has_rows_by_place(branch)) continue;
    return no_own_files(fmt::format(
        "shard: {}branch {} of `zip` has a stage that looks into its rows, or rows that are made of others, "
        "so the row that belongs to one of another branch is found by going through all files; move the "
        "stage behind `zip`, or shard by rows",
        where, i));
  }
  if (!program.branches.empty()) return {};
  const auto files = count_after(program.file_orders, static_cast<std::int64_t>(program.source.parts()));
  if (files && *files < count) return too_few_files(*files, count, where, program.source.rows != nullptr);
  return {};
}

/// A combination names the files of its branches, one branch after the other.
void name_files(Program& program) {
  program.source.files.clear();
  for (const Program& branch : program.branches)
    program.source.files.insert(program.source.files.end(), branch.source.files.begin(), branch.source.files.end());
}

/// The rows that are made have one part for each shard. So its number tells their rows from those of other shards.
void make_apart(Program& program, std::int64_t count) {
  auto rows = std::make_shared<RowSource>(*program.source.rows);
  rows->parts.clear();
  program.source.files.clear();
  for (std::int64_t index = 0; index < count; ++index) {
    rows->parts.push_back(program.made_of(index, count));
    program.source.files.push_back(rows->parts.back().name);
  }
  program.source.rows = std::move(rows);
}

}  // namespace

Program with_own_files(const Program& program, std::int64_t index, std::int64_t count, AllFiles all) {
  Program out = program;
  out.interleave.make = [make = program.interleave.make, index, count, all = std::move(all)](OrderContext context) {
    context.upstream = std::make_unique<OwnFiles>(index, count, all, std::move(context.upstream), *context.reader);
    return make(std::move(context));
  };
  out.files_a_pass = std::max<std::int64_t>(1, static_cast<std::int64_t>(program.source.parts()) / count);
  return out;
}

Program own_files(const Program& program, std::int64_t index, std::int64_t count) {
  Program out = program;
  if (out.made) make_apart(out, count);
  if (out.branches.empty()) return with_own_files(out, index, count);
  const auto sides = program.combining.make ? nullptr : std::make_shared<SideFiles>(out.branches.size());
  for (std::size_t i = 0; i < out.branches.size(); ++i) {
    Program& branch = out.branches[i];
    if (!sides) {
      branch = own_files(branch, index, count);
      continue;
    }
    branch = with_own_files(branch, index, count, [sides, i](std::span<const Handle> files, Reader& reader) {
      const auto records = reader.count(files);
      return records.ok() ? sides->tell(i, *records) : Result<void>{records.error()};
    });
  }
  if (has_made_rows(out)) name_files(out);
  return out;
}

Result<void> check_own_files(const Program& program, std::int64_t count) { return check_files(program, count, ""); }

}  // namespace forebay::engine
