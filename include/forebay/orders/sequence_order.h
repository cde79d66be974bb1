// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <forebay/field_types.h>

namespace forebay {

/// Where the random numbers of an order come from.
enum class Rng : std::uint8_t {
  forebay,       ///< From the document's seed, as all draws of a run (docs/adr/0001).
  numpy_legacy,  ///< From NumPy's RandomState, with the seeds of RETURNN; the document's seed has no influence.
};
template <>
struct EnumNames<Rng> {
  static constexpr std::array<std::string_view, 2> names{"forebay", "numpy_legacy"};
};

/// Gives the sequences of all files in an order that depends on their lengths and tags, by the indexes of the files and
/// their stored attributes. It opens the files itself, so there is no `interleave` with it. docs/sequence-orders.md has
/// the modes, the text form and the order in which the options apply.
///
/// It holds 4 bytes a sequence. Making the order of a pass takes 44 bytes a sequence when the mode sorts, 32 more with
/// `unique_seq_tags`, and 1 more with `seq_list_filter_file`.
struct SequenceOrder {
  std::string mode = "default";  ///< "laplace", or with its numbers: "laplace:.1000:2".
  /// Modes of the first passes, one each; later passes have `mode`.
  std::vector<std::string> first_modes = {};
  std::optional<std::int64_t> every_n = {};   ///< K of `default_every_n`.
  bool keep_tail = false;                     ///< Of `default_every_n`: the sequences that it leaves out come last.
  std::optional<std::int64_t> bins = {};      ///< Of `laplace` and `sort_bin_shuffle`; empty: 2.
  std::optional<std::int64_t> bin_size = {};  ///< Instead of `bins`: at least 2 bins of about so many sequences.
  std::optional<std::int64_t> nth = {};       ///< Passes, one after the other, with the same random order; empty: 1.
  std::optional<Expression> by = {};          ///< The length: "length(tokens)".
  std::optional<Expression> tag = {};         ///< The name of a sequence, a string.
  std::optional<DataFile> seq_order_seq_lens_file = {};  ///< Lengths by tag, instead of `by`: a JSON object.
  bool unique_seq_tags = false;                        ///< Of the sequences with one tag the first in the order stays.
  std::optional<DataFile> seq_list_filter_file = {};   ///< Tags of the sequences that stay, one a line.
  std::int64_t partition_epoch = 1;                    ///< A full order is given in so many passes.
  std::int64_t repeat_epoch = 1;                       ///< A pass has the order so often.
  std::int64_t num_shards = 1;                         ///< A pass is dealt to so many processes.
  std::int64_t shard_index = 0;                        ///< The part of this one.
  std::optional<std::int64_t> fixed_random_seed = {};  ///< Every pass has the random order of this seed.
  std::int64_t random_seed_offset = 0;                 ///< Added to the seed of each pass.
  Rng rng = Rng::forebay;
};

}  // namespace forebay
