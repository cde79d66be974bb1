// SPDX-License-Identifier: Apache-2.0
#include "base/tar_members.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/core.h>

namespace forebay {
namespace {

constexpr std::uint64_t max_tar_size = std::uint64_t{1} << 62;
constexpr std::uint64_t max_extra_bytes = std::uint64_t{1} << 20;  // of a long name, or of a pax header
constexpr std::size_t max_name_bytes = std::size_t{64} << 10;

/// A field of a header. The numbers are offset and length.
struct TarField {
  std::size_t begin, size;
};
constexpr TarField name_field{0, 100};
constexpr TarField size_field{124, 12};
constexpr TarField checksum_field{148, 8};
constexpr TarField magic_field{257, 6};
constexpr TarField prefix_field{345, 155};
constexpr std::size_t type_at = 156;

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The bytes of a field up to the first NUL.
std::string_view text_in(std::string_view header, TarField field) {
  const std::string_view all = header.substr(field.begin, field.size);
  return all.substr(0, all.find('\0'));
}

/// A number: octal digits with spaces around them, or big-endian bytes after a first one of 0x80.
std::optional<std::uint64_t> number_in(std::string_view header, TarField field) {
  std::string_view digits = header.substr(field.begin, field.size);
  std::uint64_t out = 0;
  if ((digits[0] & 0x80) != 0) {
    if (static_cast<unsigned char>(digits[0]) != 0x80) return std::nullopt;  // negative, or far too large
    for (const char byte : digits.substr(1)) {
      if (out >= max_tar_size >> 8) return std::nullopt;
      out = out << 8 | static_cast<unsigned char>(byte);
    }
    return out;
  }
  digits = digits.substr(std::min(digits.find_first_not_of(' '), digits.size()));
  digits = digits.substr(0, digits.find_first_of(std::string_view{" \0", 2}));
  for (const char digit : digits) {
    if (digit < '0' || digit > '7') return std::nullopt;
    out = out * 8 + static_cast<std::uint64_t>(digit - '0');  // 12 digits fit
  }
  return out;
}

/// Whether the stored sum is that of the bytes, its own taken for spaces. Old programs added signed bytes.
bool checksum_right(std::string_view header) {
  const auto stored = number_in(header, checksum_field);
  std::uint32_t sum = 0;
  std::uint32_t high = 0;
  for (const char byte : header) {
    sum += static_cast<unsigned char>(byte);
    high += static_cast<unsigned char>(byte) >> 7;
  }
  for (const char byte : header.substr(checksum_field.begin, checksum_field.size)) {
    sum += static_cast<std::uint32_t>(' ') - static_cast<unsigned char>(byte);
    high -= static_cast<unsigned char>(byte) >> 7;
  }
  return stored && (*stored == sum || *stored + 256 * std::uint64_t{high} == sum);
}

std::uint64_t padded(std::uint64_t size) { return (size + tar_block - 1) / tar_block * tar_block; }

/// Sets key and extension from the name.
void split_name(TarMember& member) {
  const std::size_t slash = member.name.rfind('/');
  const std::size_t base = slash == std::string_view::npos ? 0 : slash + 1;
  const std::size_t dot = member.name.find('.', base);
  if (dot == std::string_view::npos || dot == base) {
    member.key = member.name;
    return;
  }
  member.key = member.name.substr(0, dot);
  member.extension = member.name.substr(dot + 1);
}

/// Whether the name is that of a companion in which macOS keeps attributes of another member (AppleDouble).
bool is_companion(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  return name.substr(slash == std::string_view::npos ? 0 : slash + 1).starts_with("._");
}

/// Reads one header and the headers that belong to it.
class TarHeader {
 public:
  TarHeader(std::span<const std::byte> bytes, std::size_t at, std::string& scratch)
      : bytes_{bytes}, at_{at}, scratch_{scratch} {}

  TarStep read() {
    scratch_.clear();
    for (;;) {
      if (bytes_.size() - at_ < tar_block) return more(at_ + tar_block);
      const std::string_view header = text_of(bytes_.subspan(at_, tar_block));
      if (header.find_first_not_of('\0') == std::string_view::npos) {
        if (extra_) return fault("the archive ends after a header that belongs to another one");
        return {.what = TarStep::What::zeros};
      }
      if (!checksum_right(header)) return fault("not a tar header: its checksum is wrong");
      const auto size = number_in(header, size_field);
      if (!size || *size >= max_tar_size) return fault("the size of a member is no number that is allowed");
      const char type = header[type_at];
      if (type != 'L' && type != 'K' && type != 'x' && type != 'g') return member(header, *size, type);
      if (auto stop = extra(*size, type)) return *std::move(stop);
    }
  }

 private:
  /// Reads a header that says something about the next one. Nothing: go on with the next one.
  std::optional<TarStep> extra(std::uint64_t size, char type) {
    if (size > max_extra_bytes)
      return fault(
          fmt::format("a long name or a pax header of {} bytes; at most {} are allowed", size, max_extra_bytes));
    const std::uint64_t end = at_ + tar_block + padded(size);
    if (end > bytes_.size()) return more(static_cast<std::size_t>(end));
    const std::string_view text = text_of(bytes_.subspan(at_ + tar_block, static_cast<std::size_t>(size)));
    if (type == 'L') long_name_ = text.substr(0, text.find('\0'));
    if (type == 'x' || type == 'g') {
      if (auto bad = pax(text, type == 'g')) return bad;
    }
    extra_ = true;
    at_ = static_cast<std::size_t>(end);
    return std::nullopt;
  }

  /// Reads the records of a pax header: "length key=value\n".
  std::optional<TarStep> pax(std::string_view text, bool global) {
    while (!text.empty()) {
      std::size_t length = 0;
      const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), length);
      const auto digits = static_cast<std::size_t>(end - text.data());
      if (wrong != std::errc{} || length > text.size() || length < digits + 3 || text[digits] != ' ' ||
          text[length - 1] != '\n')
        return fault("a pax header is malformed");
      const std::string_view record = text.substr(digits + 1, length - digits - 2);
      text.remove_prefix(length);
      const std::size_t equals = record.find('=');
      if (equals == std::string_view::npos) return fault("a pax header is malformed");
      if (auto bad = pax_record(record.substr(0, equals), record.substr(equals + 1), global)) return bad;
    }
    return std::nullopt;
  }

  std::optional<TarStep> pax_record(std::string_view key, std::string_view value, bool global) {
    if (key.starts_with("GNU.sparse")) return fault("a sparse member; write the archive without --sparse");
    if (key != "path" && key != "size") return std::nullopt;
    if (global) return fault(fmt::format("a global pax header sets the {} of all members", key));
    if (key == "path") {
      pax_name_ = value;
      return std::nullopt;
    }
    std::uint64_t size = 0;
    const auto [end, wrong] = std::from_chars(value.data(), value.data() + value.size(), size);
    if (wrong != std::errc{} || end != value.data() + value.size() || size >= max_tar_size)
      return fault("the size in a pax header is no number that is allowed");
    pax_size_ = size;
    return std::nullopt;
  }

  TarStep member(std::string_view header, std::uint64_t size, char type) {
    if (type == 'S' || type == 'M')
      return fault(fmt::format("a {} member, which is not read", type == 'S' ? "sparse" : "multi-volume"));
    TarMember out;
    out.name = name_of(header);
    if (out.name.size() > max_name_bytes)
      return fault(fmt::format("a name of {} bytes; at most {} are allowed", out.name.size(), max_name_bytes));
    const bool folder = type == '5' || (type == '\0' && out.name.ends_with('/'));
    const bool empty = folder || (type >= '1' && type <= '6');  // links, devices and pipes have no bytes
    const bool regular = type == '0' || type == '7' || (type == '\0' && !folder);
    out.file = regular && !is_companion(out.name);
    out.size = empty ? 0 : pax_size_.value_or(size);
    out.data = at_ + tar_block;
    out.next = out.data + padded(out.size);
    split_name(out);
    return {.member = out};
  }

  std::string_view name_of(std::string_view header) {
    if (pax_name_) return *pax_name_;
    if (long_name_) return *long_name_;
    const std::string_view name = text_in(header, name_field);
    const bool ustar = header.substr(magic_field.begin, magic_field.size) == std::string_view{"ustar\0", 6};
    const std::string_view prefix = ustar ? text_in(header, prefix_field) : std::string_view{};
    if (prefix.empty()) return name;
    scratch_.assign(prefix).append("/").append(name);
    return scratch_;
  }

  [[nodiscard]] TarStep more(std::size_t wanted) const { return {.what = TarStep::What::more, .wanted = wanted}; }
  static TarStep fault(std::string why) { return {.what = TarStep::What::fault, .fault = std::move(why)}; }

  const std::span<const std::byte> bytes_;
  std::size_t at_;
  std::string& scratch_;
  bool extra_ = false;  // a header before the one at `at_` belongs to it
  std::optional<std::string_view> pax_name_;
  std::optional<std::string_view> long_name_;
  std::optional<std::uint64_t> pax_size_;
};

}  // namespace

TarStep tar_member_at(std::span<const std::byte> bytes, std::size_t at, std::string& scratch) {
  return TarHeader{bytes, at, scratch}.read();
}

}  // namespace forebay
