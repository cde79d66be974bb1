// SPDX-License-Identifier: Apache-2.0
// Compares the kernel `take` with memcpy: the same spans, from random places to the rows of a batch, in one run.
//   ninja -C build/release bench_take && build/release/bench_take
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

#include "columns/take/take.h"
#include "processor_time.h"

namespace forebay {
namespace {

using bench::seconds;

constexpr std::size_t ticket_bytes = std::size_t{256} << 10;
constexpr std::int64_t features = 16;  // float32: frames of 64 bytes

/// Spans of one length, at random places of a source of many elements.
struct Workload {
  Workload(std::size_t source_bytes, std::size_t out_bytes, std::int64_t span_frames)
      : frames{span_frames}, bytes{static_cast<std::size_t>(frames * features) * sizeof(float)}, out(out_bytes) {
    source.dtype = DType::float32;
    source.shape = {element_frames, features};
    source.set_rows(static_cast<std::int64_t>(source_bytes / source.row_bytes()));
    std::memset(source.values.data(), 1, source.values.size());
    std::mt19937_64 random{7};
    const auto below = [&](std::int64_t bound) {
      return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(bound));
    };
    for (std::size_t row = 0; row < out_bytes / bytes; ++row) {
      spans.push_back({.element = static_cast<std::uint32_t>(below(source.rows)),
                       .start = below(element_frames - frames + 1),
                       .length = frames,
                       .row = static_cast<std::int64_t>(row)});
    }
    out.resize(spans.size() * bytes);
  }

  void take() {
    const auto elements = columns::Elements::of(source);
    const columns::Taking taking{.sources = {&elements, 1}, .spans = spans, .filler = {}};
    const columns::DenseRows rows{.dtype = DType::float32,
                                  .memory = out,
                                  .rows = static_cast<std::int64_t>(spans.size()),
                                  .shape = {frames, features}};
    for (std::size_t first = 0; first < spans.size();) {
      const std::size_t last = std::min(spans.size(), first + std::max<std::size_t>(1, ticket_bytes / bytes));
      const auto taken = columns::take(taking, {first, last}, rows);
      if (!taken.ok()) std::puts(taken.error().text().c_str());
      first = last;
    }
  }
  void copy() {
    std::byte* to = out.data();
    for (const columns::PlacedSpan& span : spans) {
      const std::int64_t first = span.element * element_frames + span.start;
      std::memcpy(to, source.values.data() + static_cast<std::size_t>(first * features) * sizeof(float), bytes);
      to += bytes;
    }
  }

  static constexpr std::int64_t element_frames = 512;
  std::int64_t frames;
  std::size_t bytes;
  Column source;
  std::vector<columns::PlacedSpan> spans;
  std::vector<std::byte> out;
};

void compare(const char* name, std::size_t source_bytes, std::size_t out_bytes, std::int64_t frames) {
  Workload work{source_bytes, out_bytes, frames};
  double take = 1e9, copy = 1e9;
  for (int round = 0; round < 25; ++round) {
    take = std::min(take, seconds([&] { work.take(); }));
    copy = std::min(copy, seconds([&] { work.copy(); }));
  }
  const auto total = static_cast<double>(work.out.size());
  std::printf("%-8s %6zu-byte spans: take %6.2f GB/s, memcpy %6.2f GB/s, ratio %.2f, %.1f ns a span more\n", name,
              work.bytes, total / take / 1e9, total / copy / 1e9, copy / take,
              (take - copy) / static_cast<double>(work.spans.size()) * 1e9);
}

}  // namespace
}  // namespace forebay

int main() {
  for (const std::int64_t frames : {2, 16, 128}) {
    forebay::compare("L2", std::size_t{256} << 10, std::size_t{256} << 10, frames);
    forebay::compare("memory", std::size_t{512} << 20, std::size_t{64} << 20, frames);
  }
}
