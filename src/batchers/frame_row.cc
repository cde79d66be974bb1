// SPDX-License-Identifier: Apache-2.0
#include "batchers/frame_row.h"

#include <algorithm>

namespace forebay::batchers {

Result<void> check_equal_keys(const Measured& stream, const std::vector<std::string>& keys) {
  for (std::size_t key = 1; key < keys.size(); ++key) {
    if (stream.length(key) == stream.length(0)) continue;
    return stream.fault(Error{Code::data, Detail::invalid_argument,
                              "'" + keys[0] + "' has " + std::to_string(stream.length(0)) + " frames and '" +
                                  keys[key] + "' has " + std::to_string(stream.length(key)) +
                                  "; tensors that share a row are equally long: list in `keys` those that are"});
  }
  return {};
}

Result<Cut> FrameRowBatcher::cut(Handles& in, BatchRows& out) {
  while (true) {
    if (left_ == 0) {
      FOREBAY_TRY(const bool more, next(in, out));
      if (!more && frames_ == 0) return stream_.end(out);
      if (!more) break;
    }
    place(out);
    if (frames_ == limits_.frames || (sequences_ == limits_.sequences && left_ == 0)) break;
  }
  frames_ = sequences_ = 0;
  return Cut::batch;
}

Result<void> FrameRowBatcher::resume(std::span<const std::int64_t> carried) {
  if (carried.size() != 2 || carried[0] >= limits_.frames || carried[1] > carried[0])
    return Error{Code::state, Detail::data_loss,
                 "corrupt state: section 'batcher' does not fit rows of " + std::to_string(limits_.frames) + " frames"};
  frames_ = carried[0];
  sequences_ = carried[1];
  return {};
}

/// Takes the next sequence that has frames. False: the stream has ended.
Result<bool> FrameRowBatcher::next(Handles& in, const BatchRows& out) {
  while (true) {
    FOREBAY_TRY(const bool more, stream_.ready(in, out));
    if (!more) return false;
    const bool wanted = choice_.wants(stream_);
    if (wanted) FOREBAY_DO(check_equal_keys(stream_, keys_));
    if (wanted && stream_.length(0) > 0) break;
    stream_.drop();
  }
  choice_.count(stream_);
  start_ = 0;
  left_ = stream_.length(0);
  pass_ = stream_.pass();
  sequence_ = stream_.sequence();
  element_ = stream_.take();
  return true;
}

/// Adds frames of the element to the open row, as many as fit.
void FrameRowBatcher::place(BatchRows& out) {
  if (frames_ == 0) out.begin_row();
  if (frames_ == 0 && limits_.numbers) out.number(sequence_);
  if (!out.epoch()) out.set_epoch(pass_);
  const std::int64_t length = std::min(left_, limits_.frames - frames_);
  const bool placed = out.rows() > 0;  // else the row began before the restart: its batch was delivered then
  if (placed) out.of_pass(pass_);
  if (placed) out.span(element_, start_, length, frames_);
  start_ += length;
  left_ -= length;
  frames_ += length;
  ++sequences_;
  if (placed && left_ > 0) reader_.hold({&element_, 1});
  if (!placed && left_ == 0) reader_.drop({&element_, 1});  // not before: the rest of it is placed in the next row
}

}  // namespace forebay::batchers
