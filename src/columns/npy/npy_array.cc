// SPDX-License-Identifier: Apache-2.0
#include "columns/npy/npy_array.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <forebay/messages.h>

namespace forebay {
namespace {

constexpr std::size_t max_header_bytes = std::size_t{64} << 10;
constexpr std::size_t max_array_axes = 32;  // as numpy has them
constexpr std::int64_t max_array_bytes = std::int64_t{1} << 62;

Error bad_npy(std::string why) { return {Code::data, Detail::data_loss, std::move(why)}; }

/// What a header says.
struct NpyHeader {
  std::string descr;  // empty: not given
  std::optional<bool> fortran;
  std::optional<std::vector<std::int64_t>> shape;
};

/// The grammar of a header: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class NpyGrammar {
 public:
  explicit NpyGrammar(std::string_view text) : text_{text} {}

  Result<NpyHeader> read() {
    NpyHeader out;
    if (!take('{')) return bad("{");
    while (!take('}')) {
      FOREBAY_TRY(const std::string key, string());
      if (!take(':')) return bad(":");
      FOREBAY_DO(value(key, out));
      if (take(',')) continue;
      if (!take('}')) return bad(", or }");
      break;
    }
    skip_spaces();
    if (at_ != text_.size()) return bad("nothing more");
    if (out.descr.empty() || !out.fortran || !out.shape)
      return bad_npy("the header must have descr, fortran_order and shape");
    return out;
  }

 private:
  Result<void> value(const std::string& key, NpyHeader& out) {
    if (key == "descr" && out.descr.empty()) {
      skip_spaces();
      if (at_ < text_.size() && text_[at_] == '[')
        return bad_npy("the array has fields (a structured dtype); save each field as an array of its own");
      FOREBAY_TRY(out.descr, string());
      return {};
    }
    if (key == "fortran_order" && !out.fortran) {
      FOREBAY_TRY(out.fortran, boolean());
      return {};
    }
    if (key == "shape" && !out.shape) {
      FOREBAY_TRY(out.shape, tuple());
      return {};
    }
    return bad_npy(fmt::format("the header has an unknown or repeated key {}", quote(key)));
  }

  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  bool take(char wanted) {
    skip_spaces();
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  [[nodiscard]] Error bad(std::string_view expected) const {
    return bad_npy(fmt::format("the header is malformed at its byte {}: expected {}", at_, expected));
  }

  Result<std::string> string() {
    skip_spaces();
    if (at_ + 1 < text_.size() && text_[at_] == 'u') ++at_;  // Python 2 wrote u'descr'
    if (at_ == text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) return bad("a string");
    const char mark = text_[at_];
    const std::size_t end = text_.find(mark, at_ + 1);
    if (end == std::string_view::npos) return bad("the end of a string");
    std::string out{text_.substr(at_ + 1, end - at_ - 1)};
    if (out.find('\\') != std::string::npos) return bad("a string without \\");
    at_ = end + 1;
    return out;
  }

  Result<bool> boolean() {
    skip_spaces();
    for (const auto& [word, meaning] : {std::pair{std::string_view{"True"}, true}, {"False", false}}) {
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += word.size();
      return meaning;
    }
    return bad("True or False");
  }

  Result<std::vector<std::int64_t>> tuple() {
    std::vector<std::int64_t> out;
    if (!take('(')) return bad("(");
    while (!take(')')) {
      FOREBAY_TRY(const std::int64_t size, integer());
      out.push_back(size);
      if (out.size() > max_array_axes) return bad_npy(fmt::format("more than {} axes", max_array_axes));
      if (take(',')) continue;
      if (!take(')')) return bad(", or )");
      break;
    }
    return out;
  }

  Result<std::int64_t> integer() {
    skip_spaces();
    const std::size_t begin = at_;
    std::int64_t out = 0;
    for (; at_ < text_.size() && '0' <= text_[at_] && text_[at_] <= '9'; ++at_) {
      out = out * 10 + (text_[at_] - '0');
      if (out >= max_array_bytes / 16) return bad_npy("a size of the shape is too large");
    }
    if (at_ == begin) return bad("a size");
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2 wrote long integers so
    return out;
  }

  const std::string_view text_;
  std::size_t at_ = 0;
};

struct NpyType {
  DType dtype;
  bool swapped;
};

Result<NpyType> type_of(const std::string& descr) {
  constexpr std::array types{
      std::pair{std::string_view{"b1"}, DType::boolean},   std::pair{std::string_view{"i1"}, DType::int8},
      std::pair{std::string_view{"i2"}, DType::int16},     std::pair{std::string_view{"i4"}, DType::int32},
      std::pair{std::string_view{"i8"}, DType::int64},     std::pair{std::string_view{"u1"}, DType::uint8},
      std::pair{std::string_view{"u2"}, DType::uint16},    std::pair{std::string_view{"u4"}, DType::uint32},
      std::pair{std::string_view{"u8"}, DType::uint64},    std::pair{std::string_view{"f2"}, DType::float16},
      std::pair{std::string_view{"f4"}, DType::float32},   std::pair{std::string_view{"f8"}, DType::float64},
      std::pair{std::string_view{"c8"}, DType::complex64}, std::pair{std::string_view{"c16"}, DType::complex128}};
  const std::string_view text{descr};
  const bool ordered = !text.empty() && std::string_view{"<>|="}.find(text.front()) != std::string_view::npos;
  for (const auto& [name, dtype] : types) {  // without an order it is the machine's, as numpy reads it
    if (text.substr(ordered ? 1 : 0) != name) continue;
    return NpyType{.dtype = dtype, .swapped = text.front() == '>' && size_of(dtype) > 1};
  }
  const Detail invalid = Detail::invalid_argument;
  if (text.find('O') != std::string_view::npos) {
    return Error{Code::data, invalid,
                 fmt::format("an array of objects ({}) is a pickle, which can run code: it is never read. Save it with "
                             "a dtype of numbers",
                             quote(descr))};
  }
  return Error{Code::data, invalid,
               fmt::format("dtype {} is not read; allowed are bool, int, uint, float and complex", quote(descr))};
}

/// Bytes of the array; fails when they do not fit.
Result<std::int64_t> bytes_of_array(const std::vector<std::int64_t>& shape, DType dtype) {
  auto out = static_cast<std::int64_t>(size_of(dtype));
  const bool empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
  for (const std::int64_t size : shape) {
    if (empty) return 0;
    if (size > max_array_bytes / out) return bad_npy("the shape is too large: its product has more than 63 bits");
    out *= size;
  }
  return out;
}

Result<ArrayLayout> layout_of(NpyType type, std::vector<std::int64_t> shape, bool fortran, std::size_t begin) {
  FOREBAY_TRY(const std::int64_t bytes, bytes_of_array(shape, type.dtype));
  return ArrayLayout{.dtype = type.dtype,
                     .swapped = type.swapped,
                     .fortran = fortran,
                     .shape = std::move(shape),
                     .begin = static_cast<std::int64_t>(begin),
                     .bytes = bytes};
}

unsigned byte_at(std::span<const std::byte> bytes, std::size_t i) { return std::to_integer<unsigned>(bytes[i]); }

}  // namespace

Result<void> ArrayLayout::check_size(std::int64_t content) const {
  if (content - begin == bytes) return {};
  return bad_npy(fmt::format("the header names {} bytes of numbers, but the file has {}", bytes, content - begin));
}

ArrayView ArrayLayout::view(std::string name, const std::byte* data) const {
  ArrayView out{.name = std::move(name), .dtype = dtype, .shape = shape, .data = data, .swapped = swapped};
  if (!fortran || bytes == 0) return out;
  auto step = static_cast<std::int64_t>(size_of(dtype));
  for (const std::int64_t size : shape) {
    out.strides.push_back(step);
    step *= size;
  }
  return out;
}

Result<ArrayLayout> npy_layout(std::span<const std::byte> bytes, std::string_view kind) {
  constexpr std::string_view magic{"\x93NUMPY"};
  const std::string_view text{reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  if (!text.starts_with(magic) || bytes.size() < 10) {
    return Error{Code::data, kind.empty() ? Detail::data_loss : Detail::invalid_argument,
                 kind.empty() ? std::string{"not an npy file: it does not begin with \\x93NUMPY"}
                              : fmt::format("not an npy file, but {}", kind)};
  }
  const unsigned version = byte_at(bytes, 6);
  if (version < 1 || version > 3) return bad_npy(fmt::format("version {} of npy is unknown", version));
  const std::size_t begin = version == 1 ? 10 : 12;
  if (bytes.size() < begin) return bad_npy("the file ends inside its header");
  std::size_t length = byte_at(bytes, 8) | byte_at(bytes, 9) << 8;
  if (version > 1) length |= std::size_t{byte_at(bytes, 10)} << 16 | std::size_t{byte_at(bytes, 11)} << 24;
  if (length > max_header_bytes)
    return bad_npy(fmt::format("a header of {} bytes; at most {} are allowed", length, max_header_bytes));
  if (length > bytes.size() - begin) return bad_npy("the file ends inside its header");
  FOREBAY_TRY(NpyHeader header, NpyGrammar{text.substr(begin, length)}.read());
  FOREBAY_TRY(const NpyType type, type_of(header.descr));
  return layout_of(type, *std::move(header.shape), *header.fortran, begin + length);
}

Result<ArrayLayout> idx_layout(std::span<const std::byte> bytes, std::string_view kind) {
  constexpr std::array<std::pair<unsigned, DType>, 6> types{{{0x08, DType::uint8},
                                                             {0x09, DType::int8},
                                                             {0x0b, DType::int16},
                                                             {0x0c, DType::int32},
                                                             {0x0d, DType::float32},
                                                             {0x0e, DType::float64}}};
  if (bytes.size() < 4 || byte_at(bytes, 0) != 0 || byte_at(bytes, 1) != 0) {
    return bad_npy(fmt::format("not an IDX file: it does not begin with two zeros, a type and a number of axes{}{}",
                               kind.empty() ? "" : "; it is ", kind));
  }
  const auto type =
      std::find_if(types.begin(), types.end(), [&](const auto& each) { return each.first == byte_at(bytes, 2); });
  if (type == types.end()) return bad_npy(fmt::format("IDX type {:#04x} is unknown", byte_at(bytes, 2)));
  const std::size_t axes = byte_at(bytes, 3);
  if (axes == 0 || axes > max_array_axes) return bad_npy(fmt::format("an IDX array of {} axes", axes));
  if (bytes.size() < 4 + 4 * axes) return bad_npy("the file ends inside its IDX header");
  std::vector<std::int64_t> shape;
  for (std::size_t i = 0; i < axes; ++i) {
    std::int64_t size = 0;
    for (std::size_t k = 0; k < 4; ++k) size = size << 8 | byte_at(bytes, 4 + 4 * i + k);
    shape.push_back(size);
  }
  const NpyType found{.dtype = type->second, .swapped = size_of(type->second) > 1};
  return layout_of(found, std::move(shape), false, 4 + 4 * axes);
}

}  // namespace forebay
