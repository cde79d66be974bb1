// SPDX-License-Identifier: Apache-2.0
#include <forebay/orders/sequence_order.h>
#include <forebay/plugin.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "expression/tree.h"
#include "orders/indexed_walk.h"
#include "orders/sequences/sequence_route.h"

#include <forebay/messages.h>

namespace forebay::orders {
namespace {

constexpr std::int64_t max_passes = 1'000'000;
constexpr const char* no_number = "'default_every_n' needs its number; write \"default_every_n:K\"";

bool lacks_number(const Mode& mode) { return mode.kind == ModeKind::default_every_n && !mode.every_n; }

Error at_option(const char* option, std::string message) {
  return Error{Code::config, Detail::invalid_argument, std::move(message)}.at(Field{option});
}

/// Puts a number of the options into the mode. A number must belong to the mode and be given once.
void take_number(const char* option, const std::optional<std::int64_t>& given, bool belongs, const std::string& mode,
                 std::optional<std::int64_t>& number, std::vector<Error>& faults) {
  if (!given) return;
  if (!belongs) {
    faults.push_back(at_option(option, "mode " + quote(mode) + " has no such number; leave it out"));
  } else if (number) {
    faults.push_back(at_option(option, "mode " + quote(mode) + " says the number already; give it once"));
  } else {
    number = given;
  }
}

Mode read_mode(const SequenceOrder& options, std::vector<Error>& faults) {
  const auto parsed = parse_mode(options.mode);
  if (!parsed.ok()) {
    faults.push_back(parsed.error().at(Field{"mode"}));
    return {};
  }
  Mode mode = *parsed;
  const auto take = [&](const char* option, const std::optional<std::int64_t>& given, bool belongs,
                        std::optional<std::int64_t>& number) {
    take_number(option, given, belongs, options.mode, number, faults);
  };
  take("every_n", options.every_n, mode.kind == ModeKind::default_every_n, mode.every_n);
  take("bins", options.bins, has_bins(mode.kind), mode.bins);
  take("bin_size", options.bin_size, has_bins(mode.kind), mode.bin_size);
  take("nth", options.nth, draws(mode.kind), mode.nth);
  if (mode.bins && mode.bin_size) faults.push_back(at_option("bin_size", "give one of `bins` and `bin_size`"));
  if (lacks_number(mode)) faults.push_back(at_option("mode", no_number));
  return mode;
}

std::vector<Mode> read_first_modes(const SequenceOrder& options, std::vector<Error>& faults) {
  std::vector<Mode> out;
  for (std::size_t i = 0; i < options.first_modes.size(); ++i) {
    auto mode = parse_mode(options.first_modes[i]);
    if (mode.ok() && lacks_number(*mode)) mode = Error{Code::config, Detail::invalid_argument, no_number};
    if (mode.ok()) {
      out.push_back(*mode);
    } else {
      faults.push_back(mode.error().at(Field{"first_modes", std::to_string(i)}));
    }
  }
  return out;
}

void check_numbers(const SequenceOrder& options, std::vector<Error>& faults) {
  if (options.repeat_epoch > 1 && options.partition_epoch > 1) {
    faults.push_back(at_option("repeat_epoch", "a pass cannot be a part of the order (partition_epoch " +
                                                   std::to_string(options.partition_epoch) +
                                                   ") and repeat it (repeat_epoch " +
                                                   std::to_string(options.repeat_epoch) + "); leave one out"));
  }
  if (options.shard_index >= options.num_shards) {
    faults.push_back(at_option("shard_index", "it is " + std::to_string(options.shard_index) + ", and num_shards is " +
                                                  std::to_string(options.num_shards) +
                                                  ": shards are numbered from 0 to " +
                                                  std::to_string(options.num_shards - 1)));
  }
}

void check_expressions(const SequenceOrder& options, bool sorting, std::vector<Error>& faults) {
  const auto parse = [&](const char* option, const std::optional<Expression>& text) {
    if (!text) return;
    if (const auto tree = expression::parse(*text); !tree.ok()) faults.push_back(tree.error().at(Field{option}));
  };
  parse("by", options.by);
  parse("tag", options.tag);
  if (options.by && options.seq_order_seq_lens_file) {
    faults.push_back(at_option("by", "lengths come from `by` or from `seq_order_seq_lens_file`; give one"));
  } else if (sorting && !options.by && !options.seq_order_seq_lens_file) {
    faults.push_back(at_option("by",
                               "the mode sorts by lengths, and there are none: give `by`, for example "
                               "\"length(tokens)\", or `seq_order_seq_lens_file`"));
  }
  if (options.tag) return;
  const char* const needs = options.seq_list_filter_file      ? "seq_list_filter_file"
                            : options.unique_seq_tags         ? "unique_seq_tags"
                            : options.seq_order_seq_lens_file ? "seq_order_seq_lens_file"
                                                              : nullptr;
  if (needs != nullptr)
    faults.push_back(at_option(needs, "it needs `tag`, the tensor that has the name of each sequence"));
}

/// The attributes that the order asks for, and their numbers.
std::vector<Attribute> attributes_of(const SequenceOrder& options, bool sorting, SequencePlan& plan) {
  std::vector<Attribute> out;
  const auto add_text = [&](TextLookup lookup) {
    out.push_back(
        {.expression = *options.tag, .kind = AttributeKind::text, .option = {"tag"}, .lookup = std::move(lookup)});
    return out.size() - 1;
  };
  if (sorting && options.by) {
    out.push_back({.expression = *options.by, .kind = AttributeKind::integer, .option = {"by"}});
    plan.length = 0;
  } else if (sorting) {
    plan.length = add_text(lengths_by_tag(*options.seq_order_seq_lens_file));
  }
  if (options.seq_list_filter_file) plan.listed = add_text(listed_tags(*options.seq_list_filter_file));
  if (options.unique_seq_tags) {
    plan.hash = add_text(half_of_hash(0));
    add_text(half_of_hash(1));
  }
  return out;
}

/// The sequences of a pass, if that is the same in every pass.
std::optional<std::int64_t> count_of(const SequencePlan& plan, std::int64_t n) {
  if (n == 0) return 0;
  if (plan.listed || plan.hash || !plan.first_modes.empty()) return std::nullopt;
  const SequenceOrder& options = plan.options;
  const Mode& mode = plan.mode;
  if (mode.kind == ModeKind::default_every_n && !options.keep_tail) n -= n % *mode.every_n;
  const std::int64_t parts = options.partition_epoch * options.num_shards;
  if (options.partition_epoch == 1) {
    n = n / parts + (options.shard_index < n % parts ? 1 : 0);
  } else if (n % parts == 0) {
    n /= parts;
  } else {
    return std::nullopt;
  }
  std::int64_t out = 0;
  if (__builtin_mul_overflow(n, options.repeat_epoch, &out)) return std::nullopt;
  return out;
}

Result<Ordering> bind(const SequenceOrder& options) {
  std::vector<Error> faults;
  auto plan = std::make_shared<SequencePlan>();
  plan->options = options;
  plan->mode = read_mode(options, faults);
  plan->first_modes = read_first_modes(options, faults);
  const auto any = [&](bool (*is)(ModeKind)) {
    return is(plan->mode.kind) || std::ranges::any_of(plan->first_modes, is, &Mode::kind);
  };
  check_numbers(options, faults);
  check_expressions(options, any(sorts), faults);
  if (!faults.empty()) return Error::all(std::move(faults));
  Ordering out;
  out.attributes = attributes_of(options, any(sorts), *plan);
  out.grain = Grain::files_to_records;
  out.random_access = true;
  out.repeats = options.repeat_epoch > 1 || any([](ModeKind kind) { return kind == ModeKind::random_sample; });
  out.count = [plan](std::int64_t n) { return count_of(*plan, n); };
  out.make = [plan](OrderContext context) -> std::unique_ptr<Handles> {
    auto route = sequence_route(plan, context);
    return walk_by_index(std::move(route), std::move(context));
  };
  return out;
}

using SequenceDescriber = Describer<OrderType, SequenceOrder>;

void describe_mode(SequenceDescriber& out) {
  out.field(
         "mode", &SequenceOrder::mode,
         "`default`, `default_every_n`, `reverse`, `sorted`, `sorted_reverse`, `random`, `random_sample`, `laplace`, "
         "`sort_bin_shuffle` or `sort_bin_shuffle_x2`; also with its numbers, as `laplace:.1000:2`.")
      .field("first_modes", &SequenceOrder::first_modes,
             "Modes of the first passes, one each, with their numbers; later passes have `mode`.")
      .field("every_n", &SequenceOrder::every_n, "K of `default_every_n`: so many stretches of the data take turns.",
             {.min = 1, .max = max_every_n})
      .field("keep_tail", &SequenceOrder::keep_tail,
             "The sequences that `default_every_n` leaves out, because their number is no multiple of K, come last.")
      .field("bins", &SequenceOrder::bins, "Bins of `laplace` and `sort_bin_shuffle`; null: 2.",
             {.min = 1, .max = max_bins})
      .field("bin_size", &SequenceOrder::bin_size, "Sequences of a bin, instead of `bins`; there are at least 2 bins.",
             {.min = 1, .max = max_bin_size})
      .field("nth", &SequenceOrder::nth, "Full orders, one after the other, with the same random numbers; null: 1.",
             {.min = 1, .max = max_nth})
      .field("by", &SequenceOrder::by,
             "The length of a sequence, for modes that sort: an integer, for example `length(tokens)`.")
      .field("tag", &SequenceOrder::tag, "The name of a sequence: a string, for example the tensor `tag`.");
}

void describe_passes(SequenceDescriber& out) {
  out.field("seq_order_seq_lens_file", &SequenceOrder::seq_order_seq_lens_file,
            "File of lengths by tag, instead of `by`: a JSON object of tags and numbers.")
      .field("unique_seq_tags", &SequenceOrder::unique_seq_tags,
             "Of the sequences with the same tag only the first one in the full order stays.")
      .field("seq_list_filter_file", &SequenceOrder::seq_list_filter_file,
             "File with a tag on each line: only these sequences stay, after all other options. A pass without any is "
             "an error.")
      .field("partition_epoch", &SequenceOrder::partition_epoch,
             "A full order is given in so many passes, a part in each.", {.min = 1, .max = max_passes})
      .field("repeat_epoch", &SequenceOrder::repeat_epoch, "A pass gives its order so often.",
             {.min = 1, .max = max_passes})
      .field("num_shards", &SequenceOrder::num_shards,
             "A pass is dealt to so many processes, a stretch of the order to each.", {.min = 1, .max = max_passes})
      .field("shard_index", &SequenceOrder::shard_index, "Which of these stretches this plan gives, from 0.",
             {.min = 0, .max = max_passes - 1})
      .field("fixed_random_seed", &SequenceOrder::fixed_random_seed,
             "Every pass has the random numbers of this seed; null: each full order has its own.",
             {.min = 0, .max = UINT32_MAX})
      .field("random_seed_offset", &SequenceOrder::random_seed_offset, "Added to the seed of a full order.",
             {.min = 0, .max = INT32_MAX})
      .field("rng", &SequenceOrder::rng,
             "Where random numbers come from: the document's seed, or NumPy's RandomState, for the orders of RETURNN.");
}

}  // namespace

OrderType sequence_order() {
  auto out = describe<OrderType, SequenceOrder>(
      "sequence_order",
      "Gives the sequences of all files in an order by their lengths and tags, as RETURNN does; instead of "
      "`interleave`.",
      bind);
  describe_mode(out);
  describe_passes(out);
  return out
      .example({.options = R"({"mode": "laplace:3", "by": "n", "rng": "numpy_legacy"})",
                .in = R"([5, 1, 4, 2, 3, 6, 2, 7, 1, 3])",
                .out = R"([2, 3, 4, 5, 3, 2, 1, 1, 6, 7])"})
      .example({.options = R"({"mode": "default_every_n", "every_n": 3})",
                .in = R"([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])",
                .out = R"([0, 3, 6, 1, 4, 7, 2, 5, 8])"})
      .example({.options = R"({"mode": "reverse", "partition_epoch": 2})", .in = R"([1, 2, 3])", .out = R"([3, 2])"});
}

}  // namespace forebay::orders
