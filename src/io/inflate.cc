// SPDX-License-Identifier: Apache-2.0
#include "io/inflate.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "io/inflate_state.h"

namespace forebay::io {

Inflater::Inflater(std::unique_ptr<State> state) : state_{std::move(state)} {}
Inflater::Inflater(Inflater&&) noexcept = default;
Inflater& Inflater::operator=(Inflater&&) noexcept = default;
Inflater::~Inflater() = default;

Result<Inflater> Inflater::make(Compression compression, Behind behind) {
  if (compression != Compression::gzip && compression != Compression::zlib) {
    return Error{Code::internal, "only gzip and zlib can be inflated"};
  }
  auto state = std::make_unique_for_overwrite<State>();  // zeroing its buffers would cost more than a small file
  state->compression = compression;
  state->zeros = behind == Behind::zeros;
  isal_inflate_init(&state->stream);
  state->stream.next_in = nullptr;
  state->stream.avail_in = 0;
  return Inflater{std::move(state)};
}

Result<Inflater> Inflater::resume(Compression compression, const RestartPoint& point, Behind behind) {
  const bool at_stream = point.at == RestartPoint::At::stream;
  if (point.compressed < 0 || point.compressed > State::max_offset || point.uncompressed < 0 ||
      point.uncompressed > State::max_offset || point.bit > 7 || point.window.size() > window_bytes ||
      (at_stream && (point.bit != 0 || !point.window.empty()))) {
    return Error{Code::data, Detail::data_loss, "a restart point is not possible"};
  }
  FOREBAY_TRY(Inflater inflater, make(compression, behind));
  State& state = *inflater.state_;
  state.resumed = true;
  state.offset = point.compressed;
  state.produced = state.stream_begin = point.uncompressed;
  state.between = at_stream;
  state.first = at_stream && point.compressed == 0;
  if (at_stream) return inflater;
  state.used_bits = point.bit;
  state.unverified = true;
  state.stream.crc_flag = ISAL_DEFLATE;
  std::vector<std::byte> window{point.window};  // the decoder's signature asks for bytes that it may change
  if (isal_inflate_set_dict(&state.stream, reinterpret_cast<std::uint8_t*>(window.data()),
                            static_cast<std::uint32_t>(window.size())) != COMP_OK) {
    return Error{Code::internal, "the decoder took no history"};
  }
  return inflater;
}

void Inflater::limit(std::int64_t max) { state_->max = std::clamp<std::int64_t>(max, 0, State::max_offset); }

void Inflater::collect(std::int64_t interval) {
  state_->interval = std::max<std::int64_t>(interval, 1);
  state_->next_point = state_->produced;
  state_->morsels_left = State::max_morsels;
}

std::vector<RestartPoint> Inflater::take_points() { return std::exchange(state_->points, {}); }

Result<std::size_t> Inflater::read(const File& file, std::span<std::byte> out) {
  State& state = *state_;
  if (state.failure) return *state.failure;
  std::size_t done = 0;
  while (done < out.size()) {
    std::size_t made = 0;
    // One byte behind the limit is asked for: without it, the end may still come.
    const auto room = static_cast<std::size_t>(std::max<std::int64_t>(state.max - state.produced, 0)) + 1;
    auto more = state.step(file, out.subspan(done, std::min(out.size() - done, room)), made);
    done += made;
    if (made == room) {
      --done;
      more = state.too_much(file);
    }
    if (!more.ok()) {
      state.failure = more.error();
      if (done == 0) return *state.failure;
      break;
    }
    if (!*more) break;
  }
  return done;
}

std::int64_t Inflater::consumed() const { return state_->consumed(); }
std::int64_t Inflater::produced() const { return state_->produced; }
std::int64_t Inflater::sound() const { return state_->doubtful ? state_->stream_begin : state_->produced; }
bool Inflater::ended() const { return state_->ended; }
std::int64_t Inflater::bytes() { return sizeof(State); }

}  // namespace forebay::io
