// SPDX-License-Identifier: Apache-2.0
// W4c: random resized crops of 224 × 224 from JPEGs of 500 × 375, against a loop that decodes each image in full, then
// crops, resizes and flips it. The same library, the same resize, one core; processor time, the better of two runs.
//   ninja -C build/release bench_images && build/release/bench_images
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <time.h>
#include <unistd.h>

#include <forebay/forebay.h>
#include <forebay/row_identity.h>

#include "steps/image/region.h"
#include "steps/image/resample.h"
#include "tests/support/jpeg.h"

namespace forebay {
namespace {

constexpr std::int64_t side = 224;
constexpr std::int64_t batch = 32;
constexpr double max_grain = 12;
constexpr std::size_t pictures = 48;
constexpr std::size_t images = 1536;  // each picture as often

/// A picture with as much detail as a usual photograph: about 37 kB at quality 90.
test::Pixels photograph(std::uint32_t seed) {
  test::Pixels out{.width = 500, .height = 375, .channels = 3, .values = {}};
  std::uint32_t noise = seed;
  for (std::int64_t y = 0; y < out.height; ++y) {
    for (std::int64_t x = 0; x < out.width; ++x) {
      const double across = static_cast<double>(x) + 9.0 * seed;
      const double down = static_cast<double>(y);
      const double wave = 40 * std::sin(across / 23) + 40 * std::sin(down / 17) + 25 * std::sin(across * down / 4000);
      noise = noise * 1664525 + 1013904223;
      const double grain = static_cast<double>(noise >> 24) * max_grain / 255;
      for (int c = 0; c < 3; ++c) out.values.push_back(static_cast<std::uint8_t>(128 + wave * (0.5 + 0.2 * c) + grain));
    }
  }
  return out;
}

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double best_of_two(const std::function<void()>& work) {
  double best = 1e9;
  for (int i = 0; i < 2; ++i) {
    const double since = processor_seconds();
    work();
    best = std::min(best, processor_seconds() - since);
  }
  return best;
}

Json document(const std::string& file) {
  return *parse_json(R"({"source": {"tfrecord": {"files": [")" + file + R"("]}},
      "decode": {"example": {"features": {"image": {"dtype": "string", "shape": []}}}},
      "steps": [{"decode_image": {"tensor": "image", "region": {"random_resized": {}}, "resize": [224, 224],
                                  "flip": "random"}}, {"batch": {"size": 32}}]})");
}

void pipeline(const std::string& file) {
  Loader loader = *load(document(file), {.threads = 1});
  for (const Batch& made : loader.batches())
    if (made.tensor("image").count() == 0) std::puts("no image");
  if (!loader.status().ok()) std::puts(loader.status().error().text().c_str());
}

void loop(const std::vector<std::string>& files) {
  std::vector<std::byte> out(static_cast<std::size_t>(batch * side * side * 3));
  steps::AxisWeights rows, columns;
  steps::Resampler resampler;
  const ImageRegion region{.random_resized = RandomResizedRegion{}};
  for (std::size_t i = 0; i < images; ++i) {
    const test::Pixels whole = test::pixels_of(files[i % files.size()], 3);
    const RowIdentity row{.record = static_cast<std::int64_t>(i)};
    const auto draw = [&](std::uint64_t purpose) { return draw_of_row(0, row, purpose); };
    const steps::PixelArea area = steps::choose_region(region, whole.width, whole.height, draw);
    const steps::Orientation flip{.mirror_x = (draw(63) & 1) != 0};
    std::byte* const to = out.data() + i % batch * static_cast<std::size_t>(side * side * 3);
    rows.set(ResizeMethod::antialias_bilinear, area.height, 0, static_cast<double>(area.height), side);
    columns.set(ResizeMethod::antialias_bilinear, area.width, 0, static_cast<double>(area.width), side);
    resampler.begin(rows, columns, {.width = area.width}, flip.target(to, DType::uint8, ImageLayout::hwc, side, side, 3));
    for (std::int64_t y = 0; y < area.height; ++y)
      resampler.add(reinterpret_cast<const std::byte*>(whole.values.data()) +
                    ((area.y + y) * whole.width + area.x) * 3);
  }
}

void run() {
  std::vector<std::string> files, records;
  for (std::size_t i = 0; i < pictures; ++i)
    files.push_back(test::jpeg_of(photograph(static_cast<std::uint32_t>(i)), {.quality = 90}));
  for (std::size_t i = 0; i < images; ++i)
    records.push_back(encode_example({{"image", std::vector<std::string>{files[i % pictures]}}}));
  const std::string path = std::filesystem::temp_directory_path() / ("images-" + std::to_string(getpid()));
  if (!write_records(path, records, Compression::none).ok()) return;
  std::printf("%zu images, %zu bytes on average\n", images, std::filesystem::file_size(path) / images);
  const double ours = best_of_two([&] { pipeline(path); });
  const double theirs = best_of_two([&] { loop(files); });
  std::filesystem::remove(path);
  std::printf("decode_image       %7.3f ms an image\n", ours * 1e3 / static_cast<double>(images));
  std::printf("decode, then crop  %7.3f ms an image\n", theirs * 1e3 / static_cast<double>(images));
  std::printf("ratio              %7.2f\n", theirs / ours);
}

}  // namespace
}  // namespace forebay

int main() { forebay::run(); }
