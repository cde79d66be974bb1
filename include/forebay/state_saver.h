// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <forebay/batch.h>
#include <forebay/column.h>

namespace forebay {

namespace queues {
class SaverCore;
}

/// A tensor that every example of a state saver has.
struct SaverTensor {
  std::string name;  ///< Without ':'.
  DType dtype = DType::float32;
  Shape shape = {};  ///< Of one frame of a sequence, or of the whole context tensor or state. No size is 0 or unknown.
  /// Of a state: its value at the beginning of an example that brings none. Without one it is 0, false or "".
  std::optional<Tensor> initial = {};
};

struct StateSaverOptions {
  std::int64_t batch_size = 1;           ///< Rows of a batch, where `take` names no other number.
  std::int64_t num_unroll = 1;           ///< Frames of a segment.
  std::vector<SaverTensor> sequences;    ///< Cut into segments along their first axis. At least one.
  std::vector<SaverTensor> context;      ///< Each segment has all of it.
  std::vector<SaverTensor> states;       ///< At least one.
  std::optional<std::int64_t> capacity;  ///< Examples that are live at a time, at least `batch_size`. None: no limit.
  bool allow_small_batch = false;        ///< After `close` the last batches may have fewer rows.
  bool pad = false;               ///< Pad sequences to whole segments, and take their length where none is given.
  bool make_keys_unique = false;  ///< Append the number of the example to its key.
  /// An example stays in its row until it is done. Every batch has `batch_size` rows, and one batch is out at a time.
  bool sticky_rows = false;
  /// `take` fails after it has waited that long for states that were not saved. 0 or less: it waits on.
  std::chrono::milliseconds save_timeout{30'000};
};

/// A sequence, or several that run side by side. The tensors are in the order of the options.
struct SaverExample {
  std::string key;                     ///< No live example of the same epoch has it.
  std::optional<std::int64_t> length;  ///< Frames that count, at most those of the padded sequences.
  /// [frames, shape…] each, with the same number of frames. A tensor with an owner is shared and must not change any
  /// more; one without is copied.
  std::vector<Tensor> sequences;
  std::vector<Tensor> context = {};
  std::vector<Tensor> states = {};  ///< Initial values; none: those of the options.
  std::int64_t epoch = 0;
};

/// Segments of several examples, one in each row, by ascending insertion index. Copies share the batch. When the last
/// copy goes before all states were saved, the examples of its rows cannot go on. Functions that return tensors may be
/// called by any thread; the tensors may outlive the batch. A default-constructed batch may only be destroyed, or get
/// another one assigned.
class SegmentBatch {
 public:
  [[nodiscard]] std::int64_t rows() const;
  [[nodiscard]] Result<Tensor> sequences(std::string_view name) const;  ///< [rows, num_unroll, shape…]
  [[nodiscard]] Result<Tensor> context(std::string_view name) const;    ///< [rows, shape…]
  /// [rows, shape…]: what was saved for the segment before, or the initial value. Fails for an unknown name with
  /// Code::config, not_found, as the two functions above.
  [[nodiscard]] Result<Tensor> state(std::string_view name) const;
  /// Saves the state after these segments, and copies it: [rows, shape…] of the declared type. Values of last segments
  /// are left out. When all states are saved, the next segments are ready.
  ///
  /// Fails with Code::config for an unknown name and for another type or shape, with Code::state when the state was
  /// saved before, and with Code::cancelled after a cancelling `close`.
  [[nodiscard]] Result<void> save_state(std::string_view name, const Tensor& values) const;

  [[nodiscard]] const Tensor& sequence() const;         ///< Number of each segment in its example, int32 [rows].
  [[nodiscard]] const Tensor& sequence_count() const;   ///< Segments of each example, int32 [rows].
  [[nodiscard]] const Tensor& length() const;           ///< Frames of each segment that count, int32 [rows].
  [[nodiscard]] const Tensor& total_length() const;     ///< The same of the example, int32 [rows].
  [[nodiscard]] const Tensor& insertion_index() const;  ///< Counts the examples from -2^63, int64 [rows].
  [[nodiscard]] const Tensor& epoch() const;            ///< int64 [rows]
  /// Whether a row begins an example, or is empty: bool [rows]. With `sticky_rows` the last batches may have empty
  /// rows; their segment number is -1, and all else is 0.
  [[nodiscard]] const Tensor& reset() const;
  /// "00001_of_00003:key". "" of an empty row, as `next_key`.
  [[nodiscard]] std::string key(std::int64_t row) const;
  /// The key of the segment after this one; "STOP:key" after the last.
  [[nodiscard]] std::string next_key(std::int64_t row) const;

  struct Content;  ///< Internal.
  SegmentBatch() = default;
  explicit SegmentBatch(std::shared_ptr<Content> content) : content_{std::move(content)} {}

 private:
  friend class StateSaver;
  std::shared_ptr<Content> content_;
};

/// What `StateSaver::take` found.
struct TakenSegments {
  enum class Got : std::uint8_t {
    batch,
    nothing_yet,  ///< The time was over, and nothing was taken.
    end,          ///< No segment comes any more.
  };
  Got got = Got::end;
  SegmentBatch batch = {};
};

/// Batches of segments of long sequences, with the states that follow each sequence from segment to segment.
///
///     producers   insert ─► segment 0 is ready ─┐
///                                               ├─► take: the ready segments of the oldest examples, a batch
///                 segment s + 1 is ready ◄──────┼─────────────┐            │
///                                               │   save_state of all states ◄─ consumers
///                 close ─► no new examples; those that are live go to their ends
///
/// An example is live from `insert` until its last segment is taken. Any number of threads may call. Copies share the
/// saver. There is no restart: `unroll` and `stateful` are the form of a loader.
class StateSaver {
 public:
  static constexpr std::chrono::milliseconds forever = std::chrono::milliseconds::max();
  /// Segments and examples at one moment.
  struct Sizes {
    std::int64_t ready_segments = 0;    ///< Can be taken now.
    std::int64_t ready_batches = 0;     ///< Whole batches of `batch_size` among them.
    std::int64_t waiting_segments = 0;  ///< Come after segments that are not taken or not saved yet.
    std::int64_t live_examples = 0;
    /// Segments that no batch has: dropped by a cancelling `close`, or left when `take` found the end.
    std::int64_t undelivered_segments = 0;
  };

  /// Fails with Code::config, and with every fault of the options.
  [[nodiscard]] static Result<StateSaver> make(const StateSaverOptions& options);

  /// Adds an example. Waits while `capacity` examples are live; false: the time was over, and it was not added.
  /// `check` is polled at least every 50 ms of a wait.
  ///
  /// Fails with Code::config for tensors that do not fit, for a length that is not 0 … frames, and for a key that is
  /// live; with Code::cancelled after `close`, also of a wait.
  [[nodiscard]] Result<bool> insert(SaverExample example, std::chrono::milliseconds wait = forever,
                                    const StopCheck* check = nullptr);

  /// Takes `size` segments (without: `batch_size`; 0 is an empty batch), and waits until so many are ready. After
  /// `close` it waits only while that many can become ready; then it finds the end, or, with `allow_small_batch`, the
  /// segments that are ready. No segment is lost: a call that fails has taken none.
  ///
  /// Fails with Code::config for a size below 0, or one that never comes; with Code::state after `save_timeout`: the
  /// error names the examples whose states are missing, and later calls may go on.
  [[nodiscard]] Result<TakenSegments> take(std::optional<std::int64_t> size = {},
                                           std::chrono::milliseconds wait = forever, const StopCheck* check = nullptr);

  /// SegmentBatch::save_state of a batch of this saver; fails with Code::config for one of another.
  [[nodiscard]] Result<void> save(const SegmentBatch& batch, std::string_view name, const Tensor& values) const;

  /// No new examples come. `cancel`: segments that are not ready are dropped, and nothing can be saved any more; those
  /// that are ready can still be taken. Fails with Code::cancelled when the saver is closed, unless it only cancels
  /// now.
  [[nodiscard]] Result<void> close(bool cancel = false);
  [[nodiscard]] bool closed() const;
  [[nodiscard]] Sizes sizes() const;

 private:
  explicit StateSaver(std::shared_ptr<queues::SaverCore> core) : core_{std::move(core)} {}
  std::shared_ptr<queues::SaverCore> core_;
};

}  // namespace forebay
