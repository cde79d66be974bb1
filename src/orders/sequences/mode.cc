// SPDX-License-Identifier: Apache-2.0
#include "orders/sequences/mode.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include <forebay/messages.h>

namespace forebay::orders {
namespace {

constexpr std::array<std::pair<std::string_view, ModeKind>, 10> mode_names{{
    {"default", ModeKind::in_place},
    {"default_every_n", ModeKind::default_every_n},
    {"reverse", ModeKind::reverse},
    {"sorted", ModeKind::sorted},
    {"sorted_reverse", ModeKind::sorted_reverse},
    {"random", ModeKind::random},
    {"random_sample", ModeKind::random_sample},
    {"laplace", ModeKind::laplace},
    {"sort_bin_shuffle", ModeKind::sort_bin_shuffle},
    {"sort_bin_shuffle_x2", ModeKind::sort_bin_shuffle_x2},
}};

/// The form of a mode with all its numbers.
std::string form_of(std::string_view name, ModeKind kind) {
  std::string out{name};
  if (kind == ModeKind::default_every_n) out += ":K";
  if (has_bins(kind)) out += "[:BINS or :.SIZE[:NTH]]";
  if (draws(kind) && !has_bins(kind)) out += "[:NTH]";
  return out;
}

Error mode_fault(std::string_view text, const std::string& why) {
  return Error{Code::config, Detail::invalid_argument, quote(text) + " is no order of sequences: " + why};
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> out;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(':', at), text.size());
    out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

std::optional<std::int64_t> number_of(std::string_view word, std::int64_t max) {
  std::int64_t out = 0;
  const char* const end = word.data() + word.size();
  const auto read = std::from_chars(word.data(), end, out);
  if (read.ec != std::errc{} || read.ptr != end || out < 1 || out > max) return std::nullopt;
  return out;
}

/// One number after the name, and where it belongs.
struct Slot {
  std::optional<std::int64_t>* number;
  std::int64_t max;
};

/// Which number the word after the name stands for; empty when the mode has none there.
std::optional<Slot> slot_of(Mode& mode, std::size_t place, bool size) {
  if (mode.kind == ModeKind::default_every_n && place == 1) return Slot{&mode.every_n, max_every_n};
  if (has_bins(mode.kind) && place == 1) return size ? Slot{&mode.bin_size, max_bin_size} : Slot{&mode.bins, max_bins};
  if (draws(mode.kind) && place == (has_bins(mode.kind) ? 2 : 1)) return Slot{&mode.nth, max_nth};
  return std::nullopt;
}

}  // namespace

Result<Mode> parse_mode(std::string_view text) {
  const auto words = words_of(text);
  const auto known = std::ranges::find(mode_names, words.front(), [](const auto& name) { return name.first; });
  if (known == mode_names.end()) {
    std::vector<std::string> names;
    for (const auto& [name, kind] : mode_names) names.emplace_back(name);
    return mode_fault(text, "there is no " + quote(words.front()) + among(words.front(), names, "known"));
  }
  Mode mode{.kind = known->second};
  const std::string form = form_of(known->first, known->second);
  for (std::size_t i = 1; i < words.size(); ++i) {
    const bool size = i == 1 && has_bins(mode.kind) && words[i].starts_with('.');
    const auto slot = slot_of(mode, i, size);
    if (!slot) return mode_fault(text, "it has too many numbers; write " + form);
    *slot->number = number_of(words[i].substr(size ? 1 : 0), slot->max);
    if (!*slot->number) {
      return mode_fault(text,
                        quote(words[i]) + " is no number from 1 to " + std::to_string(slot->max) + "; write " + form);
    }
  }
  return mode;
}

bool has_bins(ModeKind kind) {
  return kind == ModeKind::laplace || kind == ModeKind::sort_bin_shuffle || kind == ModeKind::sort_bin_shuffle_x2;
}

bool draws(ModeKind kind) { return kind == ModeKind::random || kind == ModeKind::random_sample || has_bins(kind); }

bool sorts(ModeKind kind) { return kind == ModeKind::sorted || kind == ModeKind::sorted_reverse || has_bins(kind); }

std::int64_t bins_of(const Mode& mode, std::int64_t n) {
  return mode.bin_size ? std::max<std::int64_t>(n / *mode.bin_size, 2) : mode.bins.value_or(2);
}

}  // namespace forebay::orders
