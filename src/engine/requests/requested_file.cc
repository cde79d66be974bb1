// SPDX-License-Identifier: Apache-2.0
#include "engine/requests/requested_file.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace forebay::engine {

namespace {

constexpr std::int64_t read_at_once = std::int64_t{256} << 10;  // bytes that nobody has asked for ahead

/// Copies the bytes of an answer from `offset` of the file on. Its error comes after its bytes.
Result<std::size_t> take(const Request& request, std::span<std::byte> out, std::int64_t offset) {
  const auto bytes = request.bytes().subspan(
      std::min(request.bytes().size(), static_cast<std::size_t>(offset - request.range().offset)));
  if (bytes.empty() && request.error()) return request.error()->at(Place{.offset = offset});
  const std::size_t count = std::min(out.size(), bytes.size());
  std::memcpy(out.data(), bytes.data(), count);
  return count;
}

}  // namespace

RequestedFile::RequestedFile(std::shared_ptr<Requests> requests, std::shared_ptr<const RequestTarget> target)
    : RandomAccessFile{target->path, target->version},
      requests_{std::move(requests)},
      target_{std::move(target)},
      share_{requests_->window()} {}

const Request* RequestedFile::range_of(std::int64_t offset) const {
  const auto after = std::upper_bound(ranges_.begin(), ranges_.end(), offset,
                                      [](std::int64_t at, const auto& range) { return at < range->range().offset; });
  if (after == ranges_.begin()) return nullptr;
  const Request& range = **std::prev(after);
  return offset < range.range().end() ? &range : nullptr;
}

bool RequestedFile::ready(std::int64_t offset) const {
  if (offset >= size()) return true;
  const Request* const range = range_of(offset);
  return range != nullptr && range->ready();
}

void RequestedFile::wait(std::int64_t offset, std::chrono::steady_clock::time_point deadline) const {
  if (const Request* const range = range_of(offset)) requests_->wait(*range, deadline);
}

bool RequestedFile::all_ready() {
  while (next_unready_ < ranges_.size() && ranges_[next_unready_]->ready()) ++next_unready_;
  return next_unready_ == ranges_.size();
}

void RequestedFile::want(io::ByteRange range) {
  if (range.bytes > 0) ranges_.push_back(requests_->ask(target_, range));
}

void RequestedFile::share(std::shared_ptr<Request> range) {
  if (ranges_.empty() || ranges_.back() != range) ranges_.push_back(std::move(range));
}

/// As many of the next bytes as end with a part of the cache, if any part ends in them.
std::int64_t RequestedFile::whole_parts(std::int64_t bytes) const {
  const auto cache = target_->keeping == Keeping::none ? nullptr : requests_->cache();
  const std::int64_t end = asked_up_to_ + bytes;
  if (cache == nullptr || end == size()) return bytes;
  const std::int64_t last = end - end % cache->part_bytes();
  return last > asked_up_to_ ? last - asked_up_to_ : bytes;
}

void RequestedFile::go_to(std::int64_t offset) {
  for (const auto& range : ranges_) share_.give_back(range->range().bytes);
  ranges_.clear();
  asked_up_to_ = offset;
  advance(offset);
}

void RequestedFile::advance(std::int64_t offset) {
  while (!ranges_.empty() && ranges_.front()->range().end() <= offset) {
    share_.give_back(ranges_.front()->range().bytes);
    ranges_.pop_front();
  }
  if (offset < asked_up_to_ && range_of(offset) == nullptr) return go_to(offset);  // a stream is decoded once more
  share_.ends(asked_up_to_ == size());
  while (asked_up_to_ < size()) {
    const std::int64_t granted = share_.grant();
    if (granted == 0) return;
    const std::int64_t bytes = whole_parts(std::min(granted, size() - asked_up_to_));
    share_.give_back(granted - bytes);
    const bool urgent = ranges_.empty();
    ranges_.push_back(requests_->ask(target_, {.offset = asked_up_to_, .bytes = bytes}, urgent));
    asked_up_to_ += bytes;
    if (asked_up_to_ == size()) share_.ends(true);
  }
}

Result<std::size_t> RequestedFile::read_some(std::span<std::byte> out, std::int64_t offset) const {
  std::size_t done = 0;
  while (done < out.size() && offset + static_cast<std::int64_t>(done) < size()) {
    const std::int64_t at = offset + static_cast<std::int64_t>(done);
    const Request* const range = range_of(at);
    if (done > 0 && (range == nullptr || !range->ready())) break;
    if (range == nullptr) return read_now(out, at);
    requests_->wait(*range);
    const auto count = take(*range, out.subspan(done), at);
    if (!count.ok()) return done > 0 ? Result<std::size_t>{done} : count.error().at(Place{.file = path()});
    done += *count;
  }
  return done;
}

Result<std::size_t> RequestedFile::read_now(std::span<std::byte> out, std::int64_t offset) const {
  const std::int64_t bytes = std::min({std::ssize(out), size() - offset, read_at_once});
  const auto range = requests_->ask(target_, {.offset = offset, .bytes = bytes}, true);
  requests_->wait(*range);
  auto count = take(*range, out, offset);
  return std::move(count).at(Place{.file = path()});
}

}  // namespace forebay::engine
