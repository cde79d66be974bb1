// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <forebay/describe.h>
#include <forebay/function.h>
#include <forebay/generated.h>
#include <forebay/schema.h>

/// Windows: views of sequences. A window plug-in gets the lengths of the next elements and appends spans to a table;
/// it never sees data.
///
///     lengths of elements ─► WindowCutter::cut ─► SpanTable ─► handles ─► take(spans) → rows
///                              ▲         │
///                              └ cursor ◄┘   two integers: what was cut already
namespace forebay {

/// A stretch of one element along one time axis. Padding is added before and after it.
struct WindowSpan {
  std::int64_t element = 0;  ///< Number of the element in its part.
  std::int64_t start = 0;    ///< First frame of the element.
  std::int64_t length = 0;   ///< Frames of the element.
  std::int32_t pad_left = 0;
  std::int32_t pad_right = 0;

  bool operator==(const WindowSpan&) const = default;
};

/// The windows that a cutter made, in order. A window has one span for each time axis; a window that lies in several
/// elements has one such group of spans for each of them.
class SpanTable {
 public:
  explicit SpanTable(std::size_t axes = 1) : axes_{axes} {}

  [[nodiscard]] std::size_t axes() const { return axes_; }
  [[nodiscard]] std::size_t size() const { return windows_.size(); }  ///< Number of windows.
  /// The number of a window: in its part, or, for windows over sequences, in its sequence.
  [[nodiscard]] std::int64_t number(std::size_t window) const { return windows_[window].number; }
  /// The number of windows of its sequence; 0 when the cutter does not count them (Windowing::counts).
  [[nodiscard]] std::int64_t count(std::size_t window) const { return windows_[window].count; }
  /// The spans of one window: `axes()` spans for each of its elements.
  [[nodiscard]] std::span<const WindowSpan> operator[](std::size_t window) const {
    const std::size_t first = windows_[window].first;
    const std::size_t last = window + 1 < windows_.size() ? windows_[window + 1].first : spans_.size();
    return {spans_.data() + first, last - first};
  }
  /// Frames of one window along one axis, padding included.
  [[nodiscard]] std::int64_t length(std::size_t window, std::size_t axis = 0) const;

  [[nodiscard]] std::size_t bytes() const;  ///< Memory in use, for the budget.

  void clear();
  /// Begins a window. `add` then adds its spans, axis by axis, for one element after the other.
  void begin(std::int64_t number, std::int64_t count = 0) { windows_.push_back({number, count, spans_.size()}); }
  void add(const WindowSpan& span) { spans_.push_back(span); }
  /// The spans of the windows from `window` on, for a cutter that widens what another one cut.
  [[nodiscard]] std::span<WindowSpan> spans_from(std::size_t window);
  bool operator==(const SpanTable& other) const;

 private:
  struct Window {
    std::int64_t number;
    std::int64_t count;
    std::size_t first;  // of its spans
    bool operator==(const Window&) const = default;
  };
  std::size_t axes_;
  std::vector<Window> windows_;
  std::vector<WindowSpan> spans_;
};

/// Whose windows the draws of a random window belong to.
struct WindowPlace {
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;
  std::uint64_t part = 0;
  std::uint64_t purpose = 0;  ///< Differs between the stages of a plan.
};

/// Consecutive elements of one part.
struct WindowRows {
  std::int64_t first_element = 0;  ///< Number of the first one in its part.
  /// Windows over a part: its first frame, counted from the beginning of the stretch. A stretch is what windows may
  /// cover: a part, or what lies between two skipped records.
  std::int64_t first_frame = 0;
  std::span<const std::int64_t> lengths;  ///< [elements, keys]: frames of each element, for each of Windowing::keys.
  bool ends = false;                      ///< No element of the stretch comes after these.
  WindowPlace place = {};
  Ask ask = {};  ///< Over sequences: asks the function of Windowing::asks.
};

/// What was cut already. Begins as {0, 0} for each part; the owner of the cursor sets `position` to 0 for each further
/// stretch of the part.
struct WindowCursor {
  std::int64_t position = 0;  ///< Over sequences: the element to cut. Over a part: the first frame of the next window.
  std::int64_t window = 0;    ///< Number of the next window.

  bool operator==(const WindowCursor&) const = default;
};

/// Why `cut` returned.
enum class CutEnd : std::uint8_t {
  needs_rows,  ///< No window is left that these elements complete.
  full,        ///< It made as many windows as it may; the caller calls again with the same elements.
};

/// A bound window plug-in. Const: any number of threads may call. The windows never depend on how the elements are
/// divided between calls, nor on `max_windows`.
class WindowCutter {
 public:
  virtual ~WindowCutter() = default;
  /// Appends at most `max_windows` windows to `out` and moves `at` over them. Windows over a part: the caller passes
  /// elements that it has passed before again, as long as they end after frame `at.position`.
  ///
  /// Fails with Code::data when lengths do not fit each other, naming the element and the keys.
  [[nodiscard]] virtual Result<CutEnd> cut(const WindowRows& rows, WindowCursor& at, std::int64_t max_windows,
                                           SpanTable& out) const = 0;
};

/// Frames before a frame or window, and after it.
struct FramesAround {
  std::int64_t left = 0;
  std::int64_t right = 0;
};

/// What a window plug-in cuts.
enum class WindowGrain : std::uint8_t {
  sequences,  ///< Each element is a sequence of its own.
  parts,      ///< The elements of a part, one after the other, are one sequence.
};

/// A bound window plug-in.
struct Windowing {
  std::shared_ptr<const WindowCutter> cutter;
  WindowGrain grain = WindowGrain::sequences;
  std::vector<ColumnId> keys;   ///< Columns that are cut. Over sequences, axis i of the table is that of key i.
  std::vector<ColumnId> made;   ///< The columns of `out` that hold the windows of each key.
  std::vector<ColumnId> whole;  ///< Columns that each window gets entirely.
  /// By key, or empty: each frame of the columns in `made` is so many frames of the sequence, one after the other.
  /// Outside the sequence they are padding.
  std::vector<FramesAround> stacked = {};
  bool frames = false;   ///< Each window is one frame, and the columns in `made` have no time axis.
  std::size_t axes = 1;  ///< Of the table. Over parts, 1: all keys share the axis.
  std::vector<GeneratedColumn> generated = {};  ///< Columns of `out` that say where each window lies.
  std::optional<AskedFunction> asks = {};       ///< Over sequences: the function of the program that the cutter asks.
  /// Over parts: WindowRows::first_frame and WindowCursor::position count elements instead of frames.
  bool by_element = false;
  bool draws = false;   ///< The windows depend on WindowPlace, so they are not stored between passes.
  bool counts = false;  ///< Over sequences: each window knows the number of windows of its sequence.
  Schema out;           ///< The columns after it.
};

/// A window plug-in: its description, and the function that checks its options and binds them. `before` is the window
/// stage that comes directly before it, or null.
struct WindowType {
  Description description;
  bool widens = false;  ///< Puts frames around windows or frames, and looks at the sequence that they were cut from.
  bool of_windows = false;  ///< With `widens`: a window step before it is what it widens.
  bool pads = false;        ///< The windows have one size, and the last one of a sequence has padding.
  std::function<Result<Windowing>(const Json& options, const Schema& in, const Windowing* before)> bind;
  template <class Options>
  using Bind = Result<Windowing> (*)(const Options&, const Schema&, const Windowing*);
};

}  // namespace forebay
