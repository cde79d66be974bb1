// SPDX-License-Identifier: Apache-2.0
#include "sources/arrow/types.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include <fmt/core.h>

namespace forebay::arrow {
namespace {

struct Simple {
  std::string_view format;
  DType dtype;
  Layout layout;
  std::int64_t width;
  std::string_view logical = "";
};

constexpr std::array simple_types{
    Simple{"b", DType::boolean, Layout::bits, 0},
    Simple{"c", DType::int8, Layout::numbers, 1},
    Simple{"C", DType::uint8, Layout::numbers, 1},
    Simple{"s", DType::int16, Layout::numbers, 2},
    Simple{"S", DType::uint16, Layout::numbers, 2},
    Simple{"i", DType::int32, Layout::numbers, 4},
    Simple{"I", DType::uint32, Layout::numbers, 4},
    Simple{"l", DType::int64, Layout::numbers, 8},
    Simple{"L", DType::uint64, Layout::numbers, 8},
    Simple{"e", DType::float16, Layout::numbers, 2},
    Simple{"f", DType::float32, Layout::numbers, 4},
    Simple{"g", DType::float64, Layout::numbers, 8},
    Simple{"z", DType::string, Layout::text32, 4},
    Simple{"u", DType::string, Layout::text32, 4},
    Simple{"Z", DType::string, Layout::text64, 8},
    Simple{"U", DType::string, Layout::text64, 8},
    Simple{"vz", DType::string, Layout::views, 16},
    Simple{"vu", DType::string, Layout::views, 16},
    Simple{"tdD", DType::int64, Layout::widened, 4, "date[days]"},
    Simple{"tdm", DType::int64, Layout::numbers, 8, "date[ms]"},
    Simple{"tts", DType::int64, Layout::widened, 4, "time[s]"},
    Simple{"ttm", DType::int64, Layout::widened, 4, "time[ms]"},
    Simple{"ttu", DType::int64, Layout::numbers, 8, "time[us]"},
    Simple{"ttn", DType::int64, Layout::numbers, 8, "time[ns]"},
    Simple{"tDs", DType::int64, Layout::numbers, 8, "duration[s]"},
    Simple{"tDm", DType::int64, Layout::numbers, 8, "duration[ms]"},
    Simple{"tDu", DType::int64, Layout::numbers, 8, "duration[us]"},
    Simple{"tDn", DType::int64, Layout::numbers, 8, "duration[ns]"},
};

/// "tsu:UTC": a timestamp in microseconds, and its time zone.
std::optional<ValueType> timestamp(std::string_view format) {
  if (format.size() < 4 || !format.starts_with("ts") || format[3] != ':') return std::nullopt;
  const std::size_t unit = std::string_view{"smun"}.find(format[2]);
  if (unit == std::string_view::npos) return std::nullopt;
  constexpr std::array<std::string_view, 4> units{"s", "ms", "us", "ns"};
  const std::string_view zone = format.substr(4);
  return ValueType{.dtype = DType::int64,
                   .layout = Layout::numbers,
                   .width = 8,
                   .logical = fmt::format("timestamp[{}{}{}]", units[unit], zone.empty() ? "" : ", ", zone)};
}

}  // namespace

std::optional<std::string_view> metadata_of(const char* metadata, std::string_view key) {
  if (metadata == nullptr) return std::nullopt;
  const auto number = [&] {
    std::int32_t out = 0;
    std::memcpy(&out, metadata, sizeof(out));
    metadata += sizeof(out);
    return out;
  };
  const auto text = [&] {
    const std::int32_t size = std::max(0, number());
    const std::string_view out{metadata, static_cast<std::size_t>(size)};
    metadata += size;
    return out;
  };
  for (std::int32_t left = number(); left > 0; --left) {
    const std::string_view found = text();
    const std::string_view value = text();
    if (found == key) return value;
  }
  return std::nullopt;
}

std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc{} || end != text.data() + text.size() || out < 0 || out > INT32_MAX) return std::nullopt;
  return out;
}

std::optional<ValueType> value_type(std::string_view format) {
  for (const Simple& type : simple_types) {
    if (format == type.format)
      return ValueType{
          .dtype = type.dtype, .layout = type.layout, .width = type.width, .logical = std::string{type.logical}};
  }
  if (format.starts_with("w:")) {
    if (const auto width = number_in(format.substr(2)))
      return ValueType{.dtype = DType::string, .layout = Layout::fixed_bytes, .width = *width};
  }
  return timestamp(format);
}

std::string_view refused_type(std::string_view format) {
  struct Refused {
    std::string_view prefix;
    std::string_view name;
  };
  constexpr std::array refused{Refused{"n", "of type null"},
                               Refused{"d:", "of decimals"},
                               Refused{"ti", "of calendar intervals"},
                               Refused{"+m", "of maps"},
                               Refused{"+u", "of unions"},
                               Refused{"+r", "run-end encoded"},
                               Refused{"+s", "of structs"},
                               Refused{"+v", "of views of lists"},
                               Refused{"+l", "of lists"},
                               Refused{"+L", "of lists"},
                               Refused{"+w:", "of lists of one size"}};
  for (const Refused& type : refused) {
    if (format.starts_with(type.prefix)) return type.name;
  }
  return "of an unknown type";
}

}  // namespace forebay::arrow
