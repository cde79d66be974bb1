// SPDX-License-Identifier: Apache-2.0
// Read this first if you write a window plug-in.
#include <forebay/plugin.h>
#include <forebay/window.h>
#include <forebay/windows/chunk.h>

#include <algorithm>
#include <array>

#include "windows/chunk_rules.h"
#include "windows/keys.h"

namespace forebay {

template <>
struct EnumNames<ChunkRule> {
  static constexpr std::array<std::string_view, 3> names{"forebay", "returnn", "returnn_pipe"};
};

namespace windows {
namespace {

/// Chunks of sequences. The table has one axis for each key.
class ChunkCutter final : public WindowCutter {
 public:
  ChunkCutter(Chunk options, std::vector<ChunkKey> keys, std::size_t lead)
      : options_{std::move(options)}, keys_{std::move(keys)}, lead_{lead} {}

  Result<CutEnd> cut(const WindowRows& rows, WindowCursor& at, std::int64_t max_windows,
                     SpanTable& out) const override {
    FOREBAY_TRY(const std::size_t elements, count_elements(rows, keys_.size()));
    const std::uint64_t key = place_key(rows.place);
    Chunks chunks;
    std::vector<ChunkKey> varied;
    std::vector<Steps> steps;
    return each_sequence(
        rows, elements, at, max_windows, out,
        [&](std::size_t index, std::int64_t first, std::int64_t room) -> Result<bool> {
          const std::int64_t element = rows.first_element + static_cast<std::int64_t>(index);
          const auto lengths = rows.lengths.subspan(index * keys_.size(), keys_.size());
          if (options_.variance > 0)
            vary(keys_, options_.variance, draw_at(key, static_cast<std::uint64_t>(element)), varied);
          const std::vector<ChunkKey>& keys = options_.variance > 0 ? varied : keys_;
          FOREBAY_DO(count_chunks(options_, keys, lead_, lengths, chunks).at(Place{.record = element}));
          const std::int64_t last = first + std::min(room, std::max<std::int64_t>(chunks.count - first, 0));
          set_steps(keys, lengths, chunks, steps);
          for (std::int64_t number = first; number < last; ++number) add(steps, element, number, out);
          return last >= chunks.count;
        });
  }

 private:
  /// The chunks of one key of a sequence.
  struct Steps {
    std::int64_t size = 0;
    std::int64_t step = 0;
    std::int64_t length = 0;  // of the key
  };

  static void set_steps(const std::vector<ChunkKey>& keys, std::span<const std::int64_t> lengths, const Chunks& chunks,
                        std::vector<Steps>& out) {
    out.resize(keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i) {
      out[i] = {.size = keys[i].size, .step = keys[i].step, .length = lengths[i]};
      if (chunks.whole[i]) out[i] = {.size = lengths[i], .step = 0, .length = lengths[i]};
    }
  }

  /// Adds one chunk.
  static void add(std::span<const Steps> keys, std::int64_t element, std::int64_t number, SpanTable& out) {
    out.begin(number);
    for (const Steps& key : keys) {
      const std::int64_t start = number * key.step;
      out.add({.element = element, .start = start, .length = std::min(key.size, key.length - start)});
    }
  }

  const Chunk options_;
  const std::vector<ChunkKey> keys_;
  const std::size_t lead_;
};

/// The value of an option for one key, or `otherwise` when the option is left out; fails when the option names other
/// keys only, or when the value is not allowed.
Result<std::int64_t> frames_for(const std::optional<FramesByKey>& frames, const std::string& key,
                                const std::string& option, std::int64_t min, std::int64_t otherwise) {
  if (!frames) return otherwise;
  const auto value = frames_of(*frames, key);
  if (!value) return bad_window("the chunk option `" + option + "` does not name key '" + key + "'").at(Field{option});
  if (*value < min || *value > max_window_frames)
    return bad_window("the chunk " + option + " of '" + key + "' is " + std::to_string(*value) + ", allowed are " +
                      std::to_string(min) + " to " + std::to_string(max_window_frames))
        .at(Field{option});
  return *value;
}

Result<ChunkKey> chunk_key(const Chunk& options, const std::string& name) {
  ChunkKey key{.name = name};
  FOREBAY_TRY(key.size, frames_for(options.size, name, "size", 1, 1));
  FOREBAY_TRY(key.step, frames_for(options.step, name, "step", 0, key.size));
  FOREBAY_TRY(key.min_size, frames_for(options.min_size, name, "min_size", 0, 0));
  key.step_stated = options.step && std::holds_alternative<FramesOfKeys>(*options.step);
  if (key.step == 0 && options.rule == ChunkRule::returnn_pipe)
    return bad_window("the chunk step of '" + name + "' is 0, which rule `returnn_pipe` refuses").at(Field{"step"});
  return key;
}

/// Fails when an option names a tensor that is not a key.
Result<void> check_names(const std::optional<FramesByKey>& frames, const std::vector<std::string>& keys,
                         const std::string& option) {
  if (!frames || std::holds_alternative<std::int64_t>(*frames)) return {};
  for (const auto& [name, value] : std::get<FramesOfKeys>(*frames)) {
    if (std::find(keys.begin(), keys.end(), name) == keys.end())
      return bad_window("`" + option + "` names '" + name + "', which is not among the keys that are cut")
          .at(Field{option, name});
  }
  return {};
}

Result<Windowing> bind(const Chunk& options, const Schema& in, const Windowing* before) {
  if (before != nullptr) return bad_window("`chunk` cuts sequences, not windows: it is the first window step");
  if (!(options.variance >= 0 && options.variance < 1))
    return bad_window("variance: allowed is a number from 0 to below 1").at(Field{"variance"});
  FOREBAY_TRY(Windowing out, find_keys(options.keys, in));
  const std::vector<std::string> names = key_names(out, in);
  FOREBAY_DO(check_names(options.size, names, "size"));
  FOREBAY_DO(check_names(options.step, names, "step"));
  FOREBAY_DO(check_names(options.min_size, names, "min_size"));
  std::vector<ChunkKey> keys;
  for (const std::string& name : names) {
    FOREBAY_TRY(ChunkKey key, chunk_key(options, name));
    keys.push_back(std::move(key));
  }
  const auto lead = std::find_if(keys.begin(), keys.end(), [](const ChunkKey& key) { return key.step > 0; });
  if (lead == keys.end()) return bad_window("every chunk step is 0").at(Field{"step"});
  const auto leader = static_cast<std::size_t>(lead - keys.begin());
  make_columns(out, in, unknown_dim);
  out.axes = keys.size();
  out.draws = options.variance > 0;
  out.cutter = std::make_shared<ChunkCutter>(options, std::move(keys), leader);
  FOREBAY_DO(add_named(options, out));
  return out;
}

}  // namespace

WindowType chunk() {
  return with_names(
      describe<WindowType, Chunk>("chunk", "Cuts sequences into chunks of one size, every `step` frames.", bind)
          .field("keys", &Chunk::keys, "Tensors to cut; empty: all whose first size is unknown.")
          .required("size", &Chunk::size, "Frames of a chunk: a number, or one for each key.")
          .field("step", &Chunk::step,
                 "Frames from chunk to chunk; null: `size`. A key with step 0 is given whole in every chunk.")
          .field("min_size", &Chunk::min_size, "A tail with fewer frames is dropped.")
          .field("drop_short", &Chunk::drop_short,
                 "Drop a sequence shorter than `min_size` instead of keeping it whole.")
          .field("drop_covered_tail", &Chunk::drop_covered_tail,
                 "Drop chunks all of whose frames the chunk before has, too.")
          .field("rule", &Chunk::rule,
                 "`returnn` and `returnn_pipe` decide about tails and keys of unequal length as RETURNN does.")
          .field("variance", &Chunk::variance,
                 "Shortens sizes and steps of each sequence by a random factor from 1 - variance to 1.")
          .example({.options = R"({"size": 10, "step": 5})", .in = "[11]", .out = "[10, 6, 1]"}));
}

}  // namespace windows
}  // namespace forebay
