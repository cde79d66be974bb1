// SPDX-License-Identifier: Apache-2.0
#include <forebay/steps/decode_image.h>

#include <algorithm>
#include <cmath>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "columns/take/column_rows.h"
#include "steps/image/formats/jpeg_reader.h"
#include "steps/image/region.h"
#include "tests/support/blocks.h"
#include "tests/support/jpeg.h"

namespace forebay::steps {

StepType decode_image();

namespace {

using test::jpeg_of;
using test::picture;
using test::Pixels;
using test::pixels_of;
using ::testing::HasSubstr;

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span{text}); }

/// The faults of rows, as skip_row collects them.
class Faults final : public RowFaults {
 public:
  void add(std::int64_t row, Error error) override { found.emplace(row, error.text()); }
  std::map<std::int64_t, std::string> found;
};

class Rows final : public RowIdentities {
 public:
  [[nodiscard]] RowIdentity of(std::int64_t row) const override { return {.record = row, .occurrence = occurrence}; }
  [[nodiscard]] std::string key(std::int64_t row) const override { return "record " + std::to_string(row); }
  std::int64_t occurrence = 0;
};

/// Decodes a column of files with the step and returns its output column, or the error.
Result<Column> decoded(const std::string& options, const std::vector<std::string>& files, RowFaults* faults = nullptr,
                       std::int64_t occurrence = 0) {
  Schema in;
  const ColumnId from = in.put({.name = "image", .dtype = DType::string, .shape = Shape{}});
  FOREBAY_TRY(const Json parsed, parse_json(options));
  FOREBAY_TRY(const Bound<Step> bound, decode_image().bind(parsed, in));
  ColumnBlock block;
  block.rows = std::ssize(files);
  block.columns.emplace_back(in[from]);
  for (const std::string& file : files) block[from].push_string(bytes_of(file));
  block[from].rows = block.rows;
  test::add_columns(block, bound.out);
  const auto memory = bound.op->memory();
  Rows rows;
  rows.occurrence = occurrence;
  FOREBAY_DO(bound.op->apply(block, {.seed = 7, .rows = &rows, .faults = faults}, memory.get()));
  return std::move(block.columns.back());
}

std::string fault_of(const std::string& options, const std::string& file = "") {
  const auto out = decoded(options, {file});
  return out.ok() ? "none" : out.error().text();
}

std::vector<std::uint8_t> bytes_in(const Column& column) {
  const auto span = column.values.span<std::uint8_t>();
  return {span.begin(), span.end()};
}

std::vector<std::uint8_t> pixels(const std::string& options, const std::string& file) {
  const auto out = decoded(options, {file});
  EXPECT_TRUE(out.ok()) << out.error().text();
  return out.ok() ? bytes_in(*out) : std::vector<std::uint8_t>{};
}

Pixels part_of(const Pixels& image, const PixelArea& area) {
  Pixels out{.width = area.width, .height = area.height, .channels = image.channels, .values = {}};
  for (std::int64_t y = area.y; y < area.y + area.height; ++y) {
    for (std::int64_t x = area.x; x < area.x + area.width; ++x) {
      for (std::int64_t c = 0; c < image.channels; ++c) out.values.push_back(image.at(x, y, c));
    }
  }
  return out;
}

TEST(DecodeImage, WholeImageIsWhatTheLibraryDecodes) {
  for (const std::int64_t channels : {1, 3}) {
    for (const bool progressive : {false, true}) {
      const std::string file = jpeg_of(picture(61, 47, channels), {.progressive = progressive});
      for (const int wanted : {1, 3}) {
        EXPECT_EQ(pixels(R"({"tensor": "image", "channels": )" + std::to_string(wanted) + "}", file),
                  pixels_of(file, wanted).values)
            << channels << wanted << progressive;
      }
    }
  }
}

TEST(DecodeImage, AnAreaIsTheSameAreaOfTheWholeImage) {
  std::uint32_t random = 5;
  const auto below = [&](std::int64_t bound) {
    random = random * 1664525 + 1013904223;
    return static_cast<std::int64_t>(random >> 8) % bound;
  };
  JpegReader reader;
  for (int i = 0; i < 400; ++i) {
    const Pixels image = picture(1 + below(150), 1 + below(120), i % 5 == 0 ? 1 : 3, static_cast<std::uint32_t>(i));
    const std::string file = jpeg_of(image, {.sampling = 1 + i % 2, .progressive = i % 3 == 0});
    const int eighths = 1 << below(4);
    const Pixels whole = pixels_of(file, 3, eighths);
    PixelArea area{.x = below(whole.width), .y = below(whole.height)};
    area.width = 1 + below(whole.width - area.x);
    area.height = 1 + below(whole.height - area.y);
    ASSERT_TRUE(reader.open(bytes_of(file), {}, nullptr).ok());
    ASSERT_TRUE(reader.begin({.channels = 3, .eighths = eighths, .area = area}).ok());
    std::vector<std::uint8_t> found;
    for (std::int64_t y = 0; y < area.height; ++y) {
      const auto row = reader.row(nullptr);
      ASSERT_TRUE(row.ok()) << row.error().text();
      const auto* const pixel = reinterpret_cast<const std::uint8_t*>(*row);
      found.insert(found.end(), pixel, pixel + area.width * 3);
    }
    ASSERT_EQ(found, part_of(whole, area).values)
        << i << ": " << area.x << " " << area.y << " " << area.width << " " << area.height << " of " << whole.width
        << " " << whole.height << " at " << eighths;
  }
}

/// The rule of `resize`, written down plainly: triangle weights over all pixels.
std::vector<double> resized(const Pixels& image, std::int64_t height, std::int64_t width) {
  const auto weight = [](std::int64_t at, std::int64_t output, double step) {
    const double off = std::abs(static_cast<double>(at) + 0.5 - (static_cast<double>(output) + 0.5) * step);
    return std::max(0.0, 1 - off / std::max(step, 1.0));
  };
  const double down = static_cast<double>(image.height) / static_cast<double>(height);
  const double right = static_cast<double>(image.width) / static_cast<double>(width);
  std::vector<double> out;
  for (std::int64_t i = 0; i < height; ++i) {
    for (std::int64_t j = 0; j < width; ++j) {
      for (std::int64_t c = 0; c < image.channels; ++c) {
        double sum = 0, all = 0;
        for (std::int64_t y = 0; y < image.height; ++y) {
          for (std::int64_t x = 0; x < image.width; ++x) {
            const double w = weight(y, i, down) * weight(x, j, right);
            sum += w * image.at(x, y, c);
            all += w;
          }
        }
        out.push_back(sum / all);
      }
    }
  }
  return out;
}

TEST(DecodeImage, ResizeIsTheMeanWeightedByATriangle) {
  const std::string file = jpeg_of(picture(37, 29, 3));
  const Pixels whole = pixels_of(file, 3);
  for (const auto& [height, width] : std::vector<std::pair<int, int>>{{10, 12}, {29, 37}, {50, 61}, {7, 60}, {1, 1}}) {
    const std::string options = R"({"tensor": "image", "decoder_scale": false, "dtype": "float32", "resize": [)" +
                                std::to_string(height) + ", " + std::to_string(width) + "]}";
    const auto out = decoded(options, {file});
    ASSERT_TRUE(out.ok());
    const std::vector<double> wanted = resized(whole, height, width);
    const auto found = out->values.span<float>();
    ASSERT_EQ(found.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) ASSERT_NEAR(found[i], wanted[i], 1e-3) << height << " " << i;
  }
}

TEST(DecodeImage, ScaleInTheDecoderIsCloseToTheExactMean) {
  Pixels smooth{.width = 256, .height = 192, .channels = 3, .values = {}};
  for (std::int64_t i = 0; i < smooth.width * smooth.height * 3; ++i)
    smooth.values.push_back(static_cast<std::uint8_t>(i / 3 % smooth.width / 2 + i / 3 / smooth.width / 2));
  const std::string file = jpeg_of(smooth, {.quality = 98});
  const auto fast = pixels(R"({"tensor": "image", "resize": [24, 32]})", file);
  const auto exact = pixels(R"({"tensor": "image", "resize": [24, 32], "decoder_scale": false})", file);
  for (std::size_t i = 0; i < fast.size(); ++i) ASSERT_NEAR(fast[i], exact[i], 2) << i;
}

TEST(DecodeImage, OrientationTurnsTheImageAsItIsShown) {
  const Pixels stored = pixels_of(jpeg_of(picture(20, 13, 3)), 3);
  const std::int64_t w = stored.width, h = stored.height;
  // Where pixel (x, y) of the shown image is stored, by EXIF's numbers.
  const std::vector<std::function<std::pair<std::int64_t, std::int64_t>(std::int64_t, std::int64_t)>> place{
      [&](auto x, auto y) {
        return std::pair{x, y};
      },
      [&](auto x, auto y) {
        return std::pair{w - 1 - x, y};
      },
      [&](auto x, auto y) {
        return std::pair{w - 1 - x, h - 1 - y};
      },
      [&](auto x, auto y) {
        return std::pair{x, h - 1 - y};
      },
      [&](auto x, auto y) {
        return std::pair{y, x};
      },
      [&](auto x, auto y) {
        return std::pair{y, h - 1 - x};
      },
      [&](auto x, auto y) {
        return std::pair{w - 1 - y, h - 1 - x};
      },
      [&](auto x, auto y) {
        return std::pair{w - 1 - y, x};
      }};
  for (const int number : {9, 127, 255}) {
    EXPECT_EQ(pixels(R"({"tensor": "image"})", jpeg_of(picture(20, 13, 3), {.orientation = number})), stored.values);
  }
  for (int number = 1; number <= 8; ++number) {
    const std::string file = jpeg_of(picture(20, 13, 3), {.orientation = number});
    Pixels shown{.width = number >= 5 ? h : w, .height = number >= 5 ? w : h, .channels = 3, .values = {}};
    for (std::int64_t y = 0; y < shown.height; ++y) {
      for (std::int64_t x = 0; x < shown.width; ++x) {
        const auto [from_x, from_y] = place[static_cast<std::size_t>(number - 1)](x, y);
        for (std::int64_t c = 0; c < 3; ++c) shown.values.push_back(stored.at(from_x, from_y, c));
      }
    }
    EXPECT_EQ(pixels(R"({"tensor": "image"})", file), shown.values) << number;
    EXPECT_EQ(pixels(R"({"tensor": "image", "orientation": false})", file), stored.values) << number;
    const std::int64_t side = 7;  // round(0.5 · 13)
    const PixelArea middle{
        .x = (shown.width - side) / 2, .y = (shown.height - side) / 2, .width = side, .height = side};
    EXPECT_EQ(pixels(R"({"tensor": "image", "region": {"central": {"size": 0.5}}})", file),
              part_of(shown, middle).values)
        << number;
  }
}

TEST(DecodeImage, LayoutAndTypeOnlyMoveThePixels) {
  const std::string file = jpeg_of(picture(9, 5, 3));
  const Pixels whole = pixels_of(file, 3);
  const auto planes = pixels(R"({"tensor": "image", "layout": "chw"})", file);
  const auto floats = decoded(R"({"tensor": "image", "dtype": "float32"})", {file});
  ASSERT_TRUE(floats.ok());
  EXPECT_EQ(floats->row_shape(0), (Shape{5, 9, 3}));
  for (std::int64_t y = 0; y < 5; ++y) {
    for (std::int64_t x = 0; x < 9; ++x) {
      for (std::int64_t c = 0; c < 3; ++c) {
        EXPECT_EQ(planes[static_cast<std::size_t>((c * 5 + y) * 9 + x)], whole.at(x, y, c));
        EXPECT_EQ(floats->values.as<float>()[(y * 9 + x) * 3 + c], static_cast<float>(whole.at(x, y, c)));
      }
    }
  }
}

TEST(DecodeImage, EveryOtherRowIsMirroredAndAnotherOccurrenceDrawsAnew) {
  const std::string file = jpeg_of(picture(16, 8, 1));
  const Pixels whole = pixels_of(file, 1);
  std::vector<std::uint8_t> mirrored;
  for (std::int64_t y = 0; y < 8; ++y) {
    for (std::int64_t x = 15; x >= 0; --x) mirrored.push_back(whole.at(x, y, 0));
  }
  const auto flips = [&](std::int64_t occurrence) {
    std::vector<bool> out;
    const auto rows = decoded(R"({"tensor": "image", "channels": 1, "flip": "random"})",
                              std::vector<std::string>(200, file), nullptr, occurrence);
    const auto all = bytes_in(*rows);
    for (std::size_t at = 0; at < all.size(); at += mirrored.size()) {
      const std::vector<std::uint8_t> row(all.begin() + static_cast<std::ptrdiff_t>(at),
                                          all.begin() + static_cast<std::ptrdiff_t>(at + mirrored.size()));
      EXPECT_TRUE(row == mirrored || row == whole.values);
      out.push_back(row == mirrored);
    }
    return out;
  };
  const auto first = flips(0);
  EXPECT_NEAR(static_cast<double>(std::count(first.begin(), first.end(), true)), 100, 35);
  EXPECT_EQ(flips(0), first);
  EXPECT_NE(flips(1), first);
}

TEST(DecodeImage, RandomRegionsHaveTheAreasAndRatiosThatAreAskedFor) {
  const ImageRegion region{.random_resized = RandomResizedRegion{.scale = {0.1, 0.5}, .ratio = {0.5, 2.0}}};
  double areas = 0;
  for (std::int64_t i = 0; i < 2000; ++i) {
    const PixelArea area =
        choose_region(region, 400, 300, [i](std::uint64_t purpose) { return draw_of_row(3, {.record = i}, purpose); });
    ASSERT_GE(area.x, 0);
    ASSERT_GE(area.y, 0);
    ASSERT_LE(area.x + area.width, 400);
    ASSERT_LE(area.y + area.height, 300);
    const double share = static_cast<double>(area.width * area.height) / (400.0 * 300.0);
    const double ratio = static_cast<double>(area.width) / static_cast<double>(area.height);
    ASSERT_TRUE(share > 0.095 && share < 0.505) << share;
    ASSERT_TRUE(ratio > 0.48 && ratio < 2.08) << ratio;
    areas += share;
  }
  EXPECT_NEAR(areas / 2000, 0.3, 0.01);
}

TEST(DecodeImage, ARegionThatNeverFitsIsTheLargestCentralOne) {
  const ImageRegion region{.random_resized = RandomResizedRegion{.scale = {1, 1}, .ratio = {1, 1}}};
  const PixelArea area = choose_region(region, 100, 40, [](std::uint64_t) { return std::uint64_t{0}; });
  EXPECT_EQ((std::vector{area.x, area.y, area.width, area.height}), (std::vector<std::int64_t>{30, 0, 40, 40}));
}

TEST(DecodeImage, EveryCutIsAFault) {
  for (const bool progressive : {false, true}) {
    const std::string file = jpeg_of(picture(24, 17, 3), {.quality = 50, .progressive = progressive});
    for (std::size_t size = 0; size + 2 < file.size(); ++size)
      ASSERT_NE(fault_of(R"({"tensor": "image"})", file.substr(0, size)), "none") << size << " of " << file.size();
  }
}

TEST(DecodeImage, NoChangedByteCrashesIt) {
  const std::string file = jpeg_of(picture(24, 17, 3), {.quality = 50, .progressive = true, .orientation = 6});
  for (std::size_t at = 0; at < file.size(); ++at) {
    for (const int change : {1, 0x80, 0xFF}) {
      std::string changed = file;
      changed[at] = static_cast<char>(changed[at] ^ change);
      static_cast<void>(fault_of(
          R"({"tensor": "image", "max_image_pixels": 100000, "resize": [8, 8], "region": {"random_resized": {}}})",
          changed));
    }
  }
}

TEST(DecodeImage, AHugeHeaderIsRefusedBeforeAnythingIsAllocated) {
  std::string file = jpeg_of(picture(8, 8, 3));
  const std::size_t frame = file.find("\xFF\xC0");
  for (const std::size_t at : {5, 6, 7, 8}) file[frame + at] = at % 2 == 0 ? '\x00' : '\xFF';
  EXPECT_EQ(fault_of(R"({"tensor": "image"})", file),
            "feature 'image': an image of 65280 x 65280 pixels has more than max_image_pixels, 178956970");
}

TEST(DecodeImage, TooManyScansAreRefused) {
  const std::string file = jpeg_of(picture(8, 8, 1), {.progressive = true});
  const std::size_t first = file.find("\xFF\xDA");
  const std::size_t next = file.find("\xFF\xC4", first);  // the codes of the second scan
  const std::string scan = file.substr(first, next - first);
  const auto with = [&](int scans) {
    std::string out = file.substr(0, first);
    for (int i = 0; i < scans; ++i) out += scan;
    return out + file.substr(next);
  };
  EXPECT_EQ(fault_of(R"({"tensor": "image", "channels": 1})", with(1)), "none");
  EXPECT_EQ(fault_of(R"({"tensor": "image", "channels": 1})", with(1000)),
            "feature 'image': not an intact JPEG: it has more than 500 scans");
}

TEST(DecodeImage, FaultsOfRowsLeaveTheOtherRowsAsTheyAre) {
  const std::string good = jpeg_of(picture(12, 10, 3));
  for (const std::string resize : {"null", "[4, 5]"}) {
    const std::string options = R"({"tensor": "image", "resize": )" + resize + "}";
    Faults faults;
    const auto out = decoded(options, {good, "no image", good, good.substr(0, good.size() / 2), ""}, &faults);
    ASSERT_TRUE(out.ok());
    EXPECT_EQ(out->rows, 5);
    ASSERT_EQ(faults.found.size(), 3);
    EXPECT_THAT(faults.found[1],
                HasSubstr("not an image that can be decoded: the bytes begin with 6E 6F 20 69 6D 61 67 65;"));
    EXPECT_THAT(faults.found[3], HasSubstr("not an intact JPEG"));
    EXPECT_THAT(faults.found[4], HasSubstr("there are no bytes"));
    Column rest = columns::empty_like(*out);
    for (const std::int64_t row : {0, 2}) columns::append_rows(*out, row, row + 1, rest);
    const auto alone = decoded(options, {good, good});
    EXPECT_EQ(bytes_in(rest), bytes_in(*alone)) << resize;
    EXPECT_EQ(fault_of(options, "x").substr(0, 16), "feature 'image':");
  }
}

TEST(DecodeImage, InkIsTurnedIntoLight) {
  Pixels ink{.width = 8, .height = 8, .channels = 4, .values = {}};
  for (int i = 0; i < 64; ++i) ink.values.insert(ink.values.end(), {255, 128, 0, 255});  // as Adobe writes it
  const auto rgb = pixels(R"({"tensor": "image"})", jpeg_of(ink, {.quality = 100}));
  ASSERT_EQ(rgb.size(), 192U);
  EXPECT_NEAR(rgb[0], 255, 3);
  EXPECT_NEAR(rgb[1], 128, 3);
  EXPECT_NEAR(rgb[2], 0, 3);
}

TEST(DecodeImage, FaultsOfTheOptionsSayWhatIsAllowed) {
  EXPECT_EQ(fault_of(R"({"tensor": "image", "channels": 2})"), "line 1:33, /channels: must be 0, 1, 3 or 4; found 2");
  EXPECT_EQ(fault_of(R"({"tensor": "image", "dtype": "int8"})"),
            "line 1:30, /dtype: pixels are uint8, uint16 or float32, not int8");
  EXPECT_EQ(fault_of(R"({"tensor": "image", "resize": [0, 4]})"),
            "line 1:31, /resize: must be [height, width], each from 1 to 65535");
  EXPECT_EQ(
      fault_of(R"({"tensor": "image", "region": {"random_resized": {"scale": [0.5]}}})"),
      "line 1:60, /region/random_resized/scale: must be two numbers, the smallest and the largest, from above 0 to 1");
  EXPECT_EQ(fault_of(R"({"tensor": "image", "region": {"central": {}, "random_resized": {}}})"),
            "line 1:31, /region: is either central or random_resized, not both");
  EXPECT_THAT(fault_of(R"({"tensor": "image", "flip": "vertical"})"), HasSubstr("none"));
}

}  // namespace
}  // namespace forebay::steps
