// SPDX-License-Identifier: Apache-2.0
#include "engine/requests/range_sets.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace forebay::engine {

namespace {

constexpr std::int64_t max_request = std::int64_t{8} << 20;  // bytes
constexpr std::size_t max_sets = 80;                         // older ones belong to a pass that was left

}  // namespace

bool RangeSets::Set::all_ready() {
  return std::all_of(files_.begin(), files_.end(), [](const auto& file) { return file.second->all_ready(); });
}

const RequestedFile* RangeSets::Set::file(std::uint32_t number) const {
  const auto found = files_.find(number);
  return found == files_.end() ? nullptr : found->second.get();
}

RangeSets::Set* RangeSets::find(const Key& key) {
  const auto found = std::ranges::find(sets_, key, &Set::key_);
  return found == sets_.end() ? nullptr : &*found;
}

RangeSets::Set& RangeSets::add(const Key& key, std::vector<Piece> pieces) {
  if (sets_.size() >= max_sets) sets_.pop_front();
  Set& set = sets_.emplace_back();
  set.key_ = key;
  std::sort(pieces.begin(), pieces.end(), [](const Piece& left, const Piece& right) {
    return std::tie(left.file, left.range.offset) < std::tie(right.file, right.range.offset);
  });
  Piece joined;
  for (Piece& piece : pieces) {
    if (piece.keep) {
      share(set, piece);
      continue;
    }
    const bool near = joined.target && piece.file == joined.file &&
                      piece.range.offset <= joined.range.end() + max_hole &&
                      piece.range.end() <= joined.range.offset + max_request;
    if (near) {
      joined.range.bytes = std::max(joined.range.end(), piece.range.end()) - joined.range.offset;
      continue;
    }
    if (joined.target) want(set, joined);
    joined = std::move(piece);
  }
  if (joined.target) want(set, joined);
  return set;
}

void RangeSets::want(Set& set, const Piece& piece) {
  auto& file = set.files_[piece.file];
  if (!file) file = std::make_unique<RequestedFile>(requests_, piece.target);
  const std::int64_t end = std::min(piece.range.end(), file->size());
  for (std::int64_t at = piece.range.offset; at < end; at += max_request)
    file->want({.offset = at, .bytes = std::min(max_request, end - at)});
}

/// Asks for a piece, unless an earlier set has.
void RangeSets::share(Set& set, const Piece& piece) {
  auto& file = set.files_[piece.file];
  if (!file) file = std::make_unique<RequestedFile>(requests_, piece.target);
  auto& kept = kept_[{piece.file, piece.range.offset}];
  if (!kept || (kept->ready() && kept->error())) kept = requests_->ask(piece.target, piece.range);
  file->share(kept);
}

void RangeSets::drop_to(const Set& set) {
  const auto found = std::find_if(sets_.begin(), sets_.end(), [&](const Set& other) { return &other == &set; });
  if (found != sets_.end()) sets_.erase(sets_.begin(), std::next(found));
}

}  // namespace forebay::engine
