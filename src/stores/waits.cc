// SPDX-License-Identifier: Apache-2.0
#include "stores/waits.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

#include <fmt/core.h>

#include "stores/forever.h"
#include "stores/registry.h"

namespace forebay {
namespace stores {
namespace {

constexpr std::chrono::milliseconds between_looks{20};

/// What the program asks while threads wait.
struct Question {
  std::mutex mutex;
  std::function<bool()> go_on;
};
Question& question() {
  static Forever<Question> only;
  return *only;
}

/// One answer, which any thread gives once.
template <class T>
class Answered {
 public:
  void give(Result<T> value) {
    const std::lock_guard lock{mutex_};
    value_ = std::move(value);
    given_.notify_all();
  }
  /// Fails with Code::cancelled when the program does not want to wait any longer.
  [[nodiscard]] Result<T> wait() {
    std::unique_lock lock{mutex_};
    while (!given_.wait_for(lock, between_looks, [&] { return value_.has_value(); })) {
      lock.unlock();
      if (!goes_on()) return Error{Code::cancelled, "interrupted"};
      lock.lock();
    }
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

/// The bytes of `version` from `begin` to before `end`.
Result<std::string> read_range(FileSystem& system, const std::string& path, FileVersion version, std::int64_t begin,
                               std::int64_t end) {
  const auto size = static_cast<std::size_t>(end - begin);
  const auto bytes = std::make_shared<std::vector<std::byte>>(size);
  const auto wanted = std::make_shared<int>();
  for (std::size_t done = 0; done < size;) {
    auto got = waited<std::size_t>([&](auto answer) {
      system.read({.path = path,
                   .version = version,
                   .offset = begin + static_cast<std::int64_t>(done),
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

}  // namespace

bool goes_on() {
  std::function<bool()> go_on;
  {
    const std::lock_guard lock{question().mutex};
    go_on = question().go_on;
  }
  return !go_on || go_on();
}

std::vector<Result<std::vector<ListedFile>>> list_all(std::span<const Folder> folders) {
  using Answer = Answered<std::vector<ListedFile>>;
  std::vector<std::shared_ptr<Answer>> asked;
  for (const Folder& folder : folders) {
    asked.push_back(std::make_shared<Answer>());
    folder.system->list(folder.path, folder.deep,
                        [answer = asked.back()](auto files) { answer->give(std::move(files)); });
  }
  std::vector<Result<std::vector<ListedFile>>> out;
  for (const auto& answer : asked) out.push_back(answer->wait());
  return out;
}

Result<std::vector<ListedFile>> list(const Folder& folder) { return std::move(list_all({&folder, 1}).front()); }

Result<std::string> read_all(FileSystem& system, const std::string& path, std::int64_t max_bytes) {
  constexpr std::int64_t at_first = std::int64_t{256} << 10;
  const auto bytes = std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(std::min(at_first, max_bytes)));
  const auto wanted = std::make_shared<int>();
  auto begun = waited<FileBeginning>([&](auto answer) {
    system.find_and_read(
        {.path = path, .version = {}, .out = *bytes, .memory = {bytes, bytes->data()}, .wanted = wanted},
        std::move(answer));
  });
  FOREBAY_TRY(const FileBeginning beginning, std::move(begun).at(Place{.file = path}));
  const FileVersion& version = beginning.version;
  if (version.size > max_bytes) {
    return Error{Code::data, Detail::resource_exhausted,
                 fmt::format("'{}' has {} bytes; at most {} are allowed", path, version.size, max_bytes),
                 Place{.file = path}};
  }
  const std::size_t there = std::min({beginning.bytes, bytes->size(), static_cast<std::size_t>(version.size)});
  FOREBAY_TRY(const std::string rest,
              read_range(system, path, version, static_cast<std::int64_t>(there), version.size));
  return std::string{reinterpret_cast<const char*>(bytes->data()), there} + rest;
}

}  // namespace stores

Result<FileVersion> find_version(const std::string& path) {
  FOREBAY_TRY(FileSystem* const system, stores::find_file_system(path));
  if (system == nullptr)
    return Error{Code::config, Detail::invalid_argument, fmt::format("'{}' is a local file", path)};
  const std::string name = stores::without_signature(path);
  return stores::waited<FileVersion>([&](auto answer) { system->find(name, std::move(answer)); })
      .at(Place{.file = name});
}

Result<std::string> read_range(const std::string& path, const FileVersion& version, std::int64_t begin,
                               std::int64_t end) {
  FOREBAY_TRY(FileSystem* const system, stores::find_file_system(path));
  if (system == nullptr)
    return Error{Code::config, Detail::invalid_argument, fmt::format("'{}' is a local file", path)};
  begin = std::max<std::int64_t>(0, begin);
  end = std::min(end, version.size);
  if (begin >= end) return std::string{};
  return stores::read_range(*system, stores::without_signature(path), version, begin, end);
}

void ask_while_waiting(std::function<bool()> go_on) {
  const std::lock_guard lock{stores::question().mutex};
  stores::question().go_on = std::move(go_on);
}

}  // namespace forebay
