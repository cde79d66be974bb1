// SPDX-License-Identifier: Apache-2.0
#include "engine/program/position.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "engine/program/program.h"
#include "engine/program/saved_states.h"

namespace forebay::engine {

namespace {

// Far more than any run reaches, and far below the overflow of the type.
constexpr std::int64_t max_epochs = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t max_batches = std::numeric_limits<std::int64_t>::max() / 2;
constexpr std::int64_t max_done = 1'000'000;
constexpr std::int64_t max_pulled = 100'000'000;  // for batches without a limit: the maximum of `size`
constexpr std::int64_t max_left_out = 100'000;    // epochs that a restart goes past

Error refuse(Detail detail, std::string message) { return Error{Code::state, detail, std::move(message)}; }

Error contradiction(const Position& at, std::string_view rule) {
  return refuse(
      Detail::data_loss,
      fmt::format("corrupt state: its position contradicts itself: {}; found epoch {}, batch {}, pulled {}, next {}, "
                  "from {}, begun {}, cut_short {}, done {}; go on from an older state",
                  rule, at.epoch, at.batch, at.pulled, at.next, at.from, at.begun, at.cut_short, at.done));
}

/// Reads the values of one section by name; the section must have exactly these.
class Values {
 public:
  explicit Values(const Section& section) : section_{section} {}

  Result<void> read(std::string_view name, std::int64_t& out) {
    ++wanted_;
    const auto found = std::ranges::find_if(section_.values, [&](const auto& value) { return value.first == name; });
    if (found == section_.values.end())
      return refuse(Detail::data_loss, fmt::format("corrupt state: '{}' must be an integer, found nothing", name));
    out = found->second;
    known_.push_back(name);
    return {};
  }
  [[nodiscard]] Result<void> finish() const {
    for (const auto& [name, value] : section_.values) {
      if (std::ranges::count(known_, name) == 0)
        return refuse(
            Detail::data_loss,
            fmt::format("corrupt state: section '{}' has a member '{}', which no state has", section_.stage, name));
    }
    if (section_.values.size() == wanted_) return {};
    return refuse(Detail::data_loss,
                  fmt::format("corrupt state: a member of section '{}' stands there twice", section_.stage));
  }

 private:
  const Section& section_;
  std::vector<std::string_view> known_;
  std::size_t wanted_ = 0;
};

constexpr std::string_view order_stage = "order";
constexpr std::string_view batcher_stage = "batcher";
constexpr std::string_view ended_name = "ended";
constexpr std::string_view batches_stage = "batches";
constexpr std::string_view delivered_name = "delivered";
constexpr std::string_view skips_stage = "skips";
constexpr std::string_view mixed_stage = "mixed";

Result<Position> read_order(const Section& section) {
  Position out;
  Values values{section};
  FOREBAY_DO(values.read("epoch", out.epoch));
  FOREBAY_DO(values.read("batch", out.batch));
  FOREBAY_DO(values.read("pulled", out.pulled));
  FOREBAY_DO(values.read("next", out.next));
  FOREBAY_DO(values.read("from", out.from));
  FOREBAY_DO(values.read("begun", out.begun));
  FOREBAY_DO(values.read("cut_short", out.cut_short));
  FOREBAY_DO(values.read("done", out.done));
  FOREBAY_DO(values.finish());
  return out;
}

Error says_nothing(const Section& section) {
  return refuse(Detail::data_loss, fmt::format("corrupt state: section '{}' says nothing", section.stage));
}

/// Reads the integers of the batcher: "0", "1", … and "ended".
Result<void> read_batcher(const Section& section, Position& out) {
  if (section.values.size() > max_carried + 1)
    return refuse(Detail::data_loss, fmt::format("corrupt state: section '{}' has {} members, at most {} are possible",
                                                 batcher_stage, section.values.size(), max_carried + 1));
  Values values{section};
  FOREBAY_DO(values.read(ended_name, out.ended));
  std::vector<std::string> names;  // `values` refers to them
  for (std::size_t i = 0; i + 1 < section.values.size(); ++i) names.push_back(std::to_string(i));
  out.carried.resize(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) FOREBAY_DO(values.read(names[i], out.carried[i]));
  if (out.carried.empty() && out.ended == 0) return says_nothing(section);
  return values.finish();
}

/// Reads where the orders on batches stand: "first_0", "given_0", "first_1", … and "delivered".
Result<void> read_batches(const Section& section, Position& out) {
  if (section.values.size() > 2 * max_carried)
    return refuse(Detail::data_loss,
                  fmt::format("corrupt state: section '{}' has {} members", batches_stage, section.values.size()));
  Values values{section};
  FOREBAY_DO(values.read(delivered_name, out.delivered));
  std::vector<std::string> names;  // `values` refers to them
  for (std::size_t i = 0; i < section.values.size() / 2; ++i) {
    names.push_back(fmt::format("first_{}", i));
    names.push_back(fmt::format("given_{}", i));
  }
  out.blocks.resize(names.size() / 2);
  for (std::size_t i = 0; i < out.blocks.size(); ++i) {
    FOREBAY_DO(values.read(names[2 * i], out.blocks[i].first));
    FOREBAY_DO(values.read(names[2 * i + 1], out.blocks[i].given));
  }
  if (out.blocks.empty()) return says_nothing(section);
  return values.finish();
}

Section batches_section(const Position& position) {
  Section out{.stage = std::string{batches_stage}, .values = {{std::string{delivered_name}, position.delivered}}};
  for (std::size_t i = 0; i < position.blocks.size(); ++i) {
    out.values.emplace_back(fmt::format("first_{}", i), position.blocks[i].first);
    out.values.emplace_back(fmt::format("given_{}", i), position.blocks[i].given);
  }
  return out;
}

Result<PassSkips> read_skips(const Section& section) {
  PassSkips out;
  Values values{section};
  FOREBAY_DO(values.read("skips", out.skips));
  FOREBAY_DO(values.read("good", out.good));
  FOREBAY_DO(values.read("consecutive", out.consecutive));
  FOREBAY_DO(values.finish());
  if (out.good <= max_batches && out.skips <= max_batches && out.consecutive <= out.skips) return out;
  return refuse(Detail::data_loss,
                fmt::format("corrupt state: section '{}' contradicts itself: {} skips, {} good rows, "
                            "{} consecutive skips; go on from an older state",
                            skips_stage, out.skips, out.good, out.consecutive));
}

Result<MixedPlace> read_mixed(const Section& section) {
  MixedPlace out;
  Values values{section};
  FOREBAY_DO(values.read("pass", out.pass));
  FOREBAY_DO(values.read("row", out.row));
  FOREBAY_DO(values.finish());
  if (out != MixedPlace{} && out.pass <= max_epochs + 1 && out.row <= max_batches) return out;
  return refuse(Detail::data_loss, fmt::format("corrupt state: section '{}' says pass {}, row {}; go on from an older "
                                               "state",
                                               mixed_stage, out.pass, out.row));
}

/// Removes the section of that name. Empty: there is none. Fails when there are two.
Result<std::optional<Section>> take_section(std::string_view stage, std::vector<Section>& sections) {
  std::optional<Section> out;
  for (std::size_t i = 0; i < sections.size();) {
    if (sections[i].stage != stage) {
      ++i;
      continue;
    }
    if (out) return refuse(Detail::data_loss, fmt::format("corrupt state: section '{}' stands there twice", stage));
    out = std::move(sections[i]);
    sections.erase(sections.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return out;
}

/// Fails when the orders on batches of the program cannot stand there.
Result<void> check_blocks(const Position& at, const Program& program) {
  const std::size_t orders = program.batch_orders.size();
  bool right = at.blocks.empty() || at.blocks.size() == orders;
  for (std::size_t i = 0; right && i < at.blocks.size(); ++i)
    right = at.blocks[i].given <= program.batch_orders[i].batches->block && at.blocks[i].first <= max_batches;
  if (right && at.delivered <= max_batches) return {};
  return refuse(Detail::data_loss, fmt::format("corrupt state: section '{}' does not fit the {} orders on batches of "
                                               "this plan",
                                               batches_stage, orders));
}

Section batcher_section(const Position& position) {
  Section out{.stage = std::string{batcher_stage}, .values = {{std::string{ended_name}, position.ended}}};
  for (std::size_t i = 0; i < position.carried.size(); ++i)
    out.values.emplace_back(std::to_string(i), position.carried[i]);
  return out;
}

// The branches of a combination.

constexpr std::string_view branches_name = "branches";
constexpr std::string_view cursors_name = "cursors";

/// "EPOCH:TAKEN" for each branch, "N*EPOCH:TAKEN" for N with the same one after the other.
std::string cursors_text(const std::vector<BranchCursor>& branches) {
  std::string out;
  for (std::size_t i = 0; i < branches.size();) {
    std::size_t end = i + 1;
    while (end < branches.size() && branches[end] == branches[i]) ++end;
    if (i > 0) out += ' ';
    if (end - i > 1) out += fmt::format("{}*", end - i);
    out += fmt::format("{}:{}", branches[i].epoch, branches[i].taken);
    i = end;
  }
  return out;
}

/// Takes a number that is not negative, and the character after it, off the text. Nothing: it does not begin so.
std::optional<std::int64_t> take_number(std::string_view& text, char after) {
  std::int64_t out = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), out);
  const auto size = static_cast<std::size_t>(end - text.data());
  const bool last = after == ' ' && size == text.size();
  if (failure != std::errc{} || out < 0 || (!last && text.substr(size, 1) != std::string_view{&after, 1})) return {};
  text.remove_prefix(last ? size : size + 1);
  return out;
}

/// Reads the section of a combination.
Result<std::vector<BranchCursor>> read_branches(const Section& section) {
  Values values{section};
  std::int64_t count = 0;
  FOREBAY_DO(values.read(branches_name, count));
  FOREBAY_DO(values.finish());
  std::vector<BranchCursor> out;
  bool whole = section.texts.size() == 1 && section.texts.front().first == cursors_name;
  std::string_view text = whole ? section.texts.front().second : std::string_view{};
  while (whole && !text.empty()) {
    std::int64_t times = 1;
    if (text.substr(0, text.find(' ')).find('*') != std::string_view::npos) times = take_number(text, '*').value_or(0);
    const auto epoch = take_number(text, ':');
    const auto taken = epoch ? take_number(text, ' ') : std::nullopt;
    whole = taken && times >= 1 && times <= count - std::ssize(out);
    if (whole) out.insert(out.end(), static_cast<std::size_t>(times), {.epoch = *epoch, .taken = *taken});
  }
  whole = whole && std::ssize(out) == count && count > 0 && cursors_text(out) == section.texts.front().second;
  if (whole) return out;
  return refuse(
      Detail::data_loss,
      fmt::format("corrupt state: section '{}' must say where each of its {} branches stands", combine_stage, count));
}

}  // namespace

std::vector<Section> sections_of(const Position& position) {
  std::vector<Section> out{{.stage = std::string{order_stage},
                            .values = {{"epoch", position.epoch},
                                       {"batch", position.batch},
                                       {"pulled", position.pulled},
                                       {"next", position.next},
                                       {"from", position.from},
                                       {"begun", position.begun},
                                       {"cut_short", position.cut_short},
                                       {"done", position.done}}}};
  if (!position.carried.empty() || position.ended > 0) out.push_back(batcher_section(position));
  if (!position.blocks.empty()) out.push_back(batches_section(position));
  if (position.mixed != MixedPlace{})
    out.push_back(
        {.stage = std::string{mixed_stage}, .values = {{"pass", position.mixed.pass}, {"row", position.mixed.row}}});
  if (!position.branches.empty())
    out.push_back({.stage = std::string{combine_stage},
                   .values = {{std::string{branches_name}, std::ssize(position.branches)}},
                   .texts = {{std::string{cursors_name}, cursors_text(position.branches)}}});
  if (position.saved) out.push_back(saver_section(*position.saved));
  if (position.skips == PassSkips{}) return out;
  out.push_back({.stage = std::string{skips_stage},
                 .values = {{"skips", position.skips.skips},
                            {"good", position.skips.good},
                            {"consecutive", position.skips.consecutive}}});
  return out;
}

Result<Position> position_of(const std::vector<Section>& sections) {
  std::vector<Section> left = sections;
  FOREBAY_TRY(const auto order, take_section(order_stage, left));
  FOREBAY_TRY(const auto batcher, take_section(batcher_stage, left));
  FOREBAY_TRY(const auto batches, take_section(batches_stage, left));
  FOREBAY_TRY(const auto skips, take_section(skips_stage, left));
  FOREBAY_TRY(const auto saver, take_section(saver_stage, left));
  FOREBAY_TRY(const auto mixed, take_section(mixed_stage, left));
  FOREBAY_TRY(const auto combine, take_section(combine_stage, left));
  if (!left.empty()) {
    return refuse(Detail::failed_precondition,
                  fmt::format("the state has a section '{}', which this Forebay does not know; use the Forebay that "
                              "wrote it, or a newer one",
                              left.front().stage));
  }
  if (!order) return refuse(Detail::data_loss, fmt::format("corrupt state: it has no section '{}'", order_stage));
  FOREBAY_TRY(Position out, read_order(*order));
  if (batcher) FOREBAY_DO(read_batcher(*batcher, out));
  if (batches) FOREBAY_DO(read_batches(*batches, out));
  if (skips) {
    FOREBAY_TRY(out.skips, read_skips(*skips));
  }
  if (mixed) {
    FOREBAY_TRY(out.mixed, read_mixed(*mixed));
  }
  if (saver) {
    FOREBAY_TRY(SavedStates saved, read_saver(*saver));
    out.saved = std::make_shared<const SavedStates>(std::move(saved));
  }
  if (combine) {
    FOREBAY_TRY(out.branches, read_branches(*combine));
  }
  return out;
}

Result<void> check_position(const Position& at) {
  if (at.epoch > max_epochs) return contradiction(at, fmt::format("'epoch' is at most {}", max_epochs));
  if (at.next > max_batches) return contradiction(at, fmt::format("'next' is at most {}", max_batches));
  if (at.done > max_done) return contradiction(at, fmt::format("'done' is at most {}", max_done));
  if (at.begun > 1) return contradiction(at, "'begun' is 0 or 1");
  if (at.from > at.epoch + max_left_out)
    return contradiction(at, fmt::format("'from' is at most {} epochs after 'epoch'", max_left_out));
  if (at.epoch == 0 && (at.batch > 0 || at.pulled > 0))
    return contradiction(at, "epoch 0 begins with batch 0, of which nothing was pulled before");
  if (at.next < at.batch) return contradiction(at, "'next' is at least 'batch'");
  // Records of earlier epochs are in no batch that is still to be delivered.
  if (at.pulled > 0 && at.next == at.batch)
    return contradiction(at, "a batch of which something was pulled in an earlier epoch lies before 'next'");
  for (const BranchCursor& branch : at.branches) {
    if (branch.epoch > max_epochs)
      return contradiction(at, fmt::format("'epoch' of a branch is at most {}", max_epochs));
    if (at.epoch == 0 && branch != BranchCursor{})
      return contradiction(at, "every branch stands at its beginning in epoch 0");
  }
  if (at.cut_short > 0 && (at.epoch == 0 || at.next == 0 || at.next != at.batch))
    return contradiction(at, "a batch that was cut short is the last one of an epoch");
  return {};
}

Result<void> check_position(const Position& at, const Program& program, const Shard& shard) {
  if (const auto max_rows = program.batching.max_rows) {
    const std::int64_t rows = *max_rows / (own_stream(shard) ? shard.count : 1);
    if (at.pulled >= rows) return contradiction(at, fmt::format("'pulled' is less than a batch, {} rows", rows));
    if (at.cut_short >= rows) return contradiction(at, fmt::format("'cut_short' is less than a batch, {} rows", rows));
  } else if (at.pulled > max_pulled) {
    return contradiction(at, fmt::format("'pulled' is at most {}", max_pulled));
  }
  if (!at.branches.empty() || at.epoch > 0) {
    if (at.branches.size() != program.branches.size())
      return refuse(Detail::data_loss, fmt::format("corrupt state: it stands in {} branches, and this plan has {}",
                                                   at.branches.size(), program.branches.size()));
  }
  if (program.hard_epochs && at.pulled > 0) return contradiction(at, "no batch has records of two hard epochs");
  FOREBAY_DO(check_blocks(at, program));
  if (at.saved) FOREBAY_DO(check_saved(*at.saved, program));
  const bool may_end = program.batching.carries || !program.batch_orders.empty();
  if ((!program.batching.carries && !at.carried.empty()) || (!may_end && at.ended > 0))
    return refuse(Detail::data_loss,
                  "corrupt state: it has a section 'batcher', and the batches of this plan need none");
  if (at.ended > 0 && program.epochs != at.ended) {
    return refuse(Detail::failed_precondition,
                  fmt::format("the state stands among the last batches of a run of {} epochs, which a run of another "
                              "length cuts otherwise; set `epochs` to {}, or go on from an older state",
                              at.ended, at.ended));
  }
  if (!program.epochs) return {};
  const bool ended = at.epoch == *program.epochs && at.next == at.batch;
  if (at.epoch < *program.epochs || ended) return {};
  return refuse(
      Detail::failed_precondition,
      fmt::format("the state stands in epoch {}, and this plan has {} epochs, counted from 0: nothing is left "
                  "of it; set `epochs` to {} or more",
                  at.epoch, *program.epochs, at.epoch + 1));
}

double share_of_run(const Position& position, const Program& program) {
  const double pass = static_cast<double>(position.done) / 1e6;
  if (!program.epochs) return pass;
  const double passes = static_cast<double>(std::max<std::int64_t>(1, *program.epochs));
  return std::min(1.0, (static_cast<double>(position.epoch) + pass) / passes);
}

}  // namespace forebay::engine
