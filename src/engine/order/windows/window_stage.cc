// SPDX-License-Identifier: Apache-2.0
#include "engine/order/windows/window_stage.h"

#include <algorithm>
#include <utility>

namespace forebay::engine {

namespace {

constexpr std::size_t sequences_at_once = 16;
constexpr std::int64_t windows_a_slot = 4096;

}  // namespace

WindowStage::WindowStage(const Program& program, OpenFiles& files, WindowReader& reader,
                         std::unique_ptr<Handles> upstream)
    : program_{program},
      files_{files},
      reader_{reader},
      lengths_{program, files},
      upstream_{std::move(upstream)},
      ask_{ask_of(files, program.windows->windowing.asks)} {}

void WindowStage::begin(std::int64_t epoch) {
  clear();
  epoch_ = epoch;
  upstream_->begin(epoch);
}

void WindowStage::clear() {
  if (current_) reader_.table().release_element(*std::exchange(current_, std::nullopt)), ++at_;
  files_.drop(std::span{pulled_}.subspan(at_));
  reader_.drop(std::span{windows_}.subspan(next_));
  pulled_.clear();
  frames_.clear();
  windows_.clear();
  at_ = next_ = 0;
  cursor_ = {};
  broken_.reset();
}

Result<std::size_t> WindowStage::pull(std::span<Handle> out) {
  while (next_ == windows_.size()) {
    FOREBAY_TRY(const bool going, more());
    if (!going) return std::size_t{0};
  }
  const std::size_t count = std::min(out.size(), windows_.size() - next_);
  std::copy_n(windows_.begin() + static_cast<std::ptrdiff_t>(next_), count, out.begin());
  next_ += count;
  return count;
}

/// Pulls elements, or cuts those that were pulled. An interrupted call goes on where it stopped.
Result<bool> WindowStage::more() {
  if (broken_) return *broken_;
  if (at_ == pulled_.size()) {
    frames_.clear();
    at_ = 0;
    pulled_.resize(sequences_at_once);
    const auto count = upstream_->pull(pulled_);
    pulled_.resize(count.ok() ? *count : 0);
    FOREBAY_DO(count);
    if (pulled_.empty()) return false;
    if (program_.early.attributes.empty()) files_.judge(std::ssize(pulled_));
  }
  if (frames_.empty()) FOREBAY_DO(lengths_.read(pulled_, frames_));
  FOREBAY_DO(cut());
  return true;
}

/// Cuts elements until a slot is full or none is left. Fails when it is interrupted before the first window.
Result<void> WindowStage::cut() {
  windows_.clear();
  next_ = 0;
  SpanTable made{program_.windows->windowing.axes};
  elements_.clear();
  bool goes_on = false;  // the last element of the slot, in the next one
  std::optional<Error> interrupted;
  while (at_ < pulled_.size() && static_cast<std::int64_t>(made.size()) < windows_a_slot) {
    const auto done = cut_element(at_, made);
    if (!done.ok()) {
      (files_.interrupted(done.error()) ? interrupted : broken_) = done.error();
      break;
    }
    goes_on = !*done;
    if (goes_on) break;
    ++at_;
    cursor_ = {};
  }
  if (interrupted && made.size() == 0 && elements_.empty()) return *interrupted;
  const auto added = reader_.table().add(std::move(made), elements_, windows_);
  if (goes_on) elements_.pop_back();
  for (const WindowTable::Element element : elements_) reader_.table().release_element(element);
  return added;
}

/// Returns whether all windows of the element are cut.
Result<bool> WindowStage::cut_element(std::size_t index, SpanTable& made) {
  const Handle& element = pulled_[index];
  const std::size_t keys = lengths_.keys();
  const std::span<const std::int64_t> lengths = std::span{frames_}.subspan(index * keys, keys);
  const Block& block = files_.table()[element.block];
  const std::int64_t number = files_.record_of(element);
  const WindowRows rows{.first_element = number,
                        .lengths = lengths,
                        .ends = true,
                        .place = {.seed = program_.seed,
                                  .epoch = static_cast<std::uint64_t>(epoch_),
                                  .part = block.file,
                                  .purpose = program_.windows->purpose},
                        .ask = ask_};
  const std::size_t before = made.size();
  if (cursor_ == WindowCursor{}) cursor_.position = number;
  const std::int64_t room = windows_a_slot - static_cast<std::int64_t>(before);
  const auto end = program_.windows->windowing.cutter->cut(rows, cursor_, room, made);
  if (!end.ok() && files_.interrupted(end.error())) return end.error();
  if (!end.ok()) return place_of_element(program_, block.file, end.error());
  for (WindowSpan& span : made.spans_from(before)) span.element = static_cast<std::int64_t>(elements_.size());
  elements_.push_back(current_ ? *current_
                               : reader_.table().add_element(element, ElementLengths::frame_bytes(element, lengths)));
  current_.reset();
  if (*end == CutEnd::needs_rows) return true;
  current_ = elements_.back();
  return false;
}

}  // namespace forebay::engine
