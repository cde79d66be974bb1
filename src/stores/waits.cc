// SPDX-License-Identifier: Apache-2.0
#include "stores/waits.h"

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

#include <fmt/core.h>

namespace forebay::stores {
namespace {

/// One answer, which any thread gives once.
template <class T>
class Answered {
 public:
  void give(Result<T> value) {
    const std::lock_guard lock{mutex_};
    value_ = std::move(value);
    given_.notify_all();
  }
  [[nodiscard]] Result<T> wait() {
    std::unique_lock lock{mutex_};
    given_.wait(lock, [&] { return value_.has_value(); });
    return *std::move(value_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable given_;
  std::optional<Result<T>> value_;
};

/// The value that `ask(answer)` answers with.
template <class T, class Ask>
Result<T> waited(Ask ask) {
  const auto answered = std::make_shared<Answered<T>>();
  ask([answered](Result<T> value) { answered->give(std::move(value)); });
  return answered->wait();
}

}  // namespace

Result<std::vector<std::string>> list(FileSystem& system, const std::string& folder, bool deep) {
  return waited<std::vector<std::string>>([&](auto answer) { system.list(folder, deep, std::move(answer)); });
}

Result<std::string> read_all(FileSystem& system, const std::string& path, std::int64_t max_bytes) {
  auto found = waited<FileVersion>([&](auto answer) { system.find(path, std::move(answer)); });
  FOREBAY_TRY(const FileVersion version, std::move(found).at(Place{.file = path}));
  if (version.size > max_bytes) {
    return Error{Code::data, Detail::resource_exhausted,
                 fmt::format("'{}' has {} bytes; at most {} are allowed", path, version.size, max_bytes),
                 Place{.file = path}};
  }
  const auto size = static_cast<std::size_t>(version.size);
  const auto bytes = std::make_shared<std::vector<std::byte>>(size);
  const auto wanted = std::make_shared<int>();
  for (std::size_t done = 0; done < size;) {
    auto got = waited<std::size_t>([&](auto answer) {
      system.read({.path = path,
                   .version = version,
                   .offset = static_cast<std::int64_t>(done),
                   .out = std::span{*bytes}.subspan(done),
                   .memory = {bytes, bytes->data()},
                   .wanted = wanted},
                  std::move(answer));
    });
    FOREBAY_TRY(const std::size_t count, std::move(got).at(Place{.file = path}));
    if (count == 0 || count > size - done)
      return Error{Code::data, Detail::failed_precondition, "the file changed while it was read", Place{.file = path}};
    done += count;
  }
  return std::string{reinterpret_cast<const char*>(bytes->data()), size};
}

}  // namespace forebay::stores
