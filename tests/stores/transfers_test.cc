// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <atomic>
#include <charconv>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <forebay/file_system.h>
#include <forebay/http_files.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace forebay {
namespace {

constexpr std::int64_t size = std::int64_t{1} << 20;

/// Byte `at` of the one file of the server.
std::byte byte_of(std::int64_t at) { return static_cast<std::byte>(at * 2654435761 >> 11); }

/// A server of one file. `fault` decides about each request, by its number: true resets the connection.
class Server {
 public:
  explicit Server(std::function<bool(int)> fault) : fault_{std::move(fault)}, socket_{socket(AF_INET, SOCK_STREAM, 0)} {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(socket_, any, length), 0);
    EXPECT_EQ(listen(socket_, 128), 0);
    EXPECT_EQ(getsockname(socket_, any, &length), 0);
    url_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/file";
    accepting_ = std::thread{[this] {
      for (int one = 0; (one = accept(socket_, nullptr, nullptr)) >= 0;) {
        const std::lock_guard lock{mutex_};
        connections_.push_back(one);
        serving_.emplace_back([this, one] { serve(one); });
      }
    }};
  }
  ~Server() {
    shutdown(socket_, SHUT_RDWR);
    accepting_.join();
    for (const int one : connections_) shutdown(one, SHUT_RDWR);
    for (std::thread& thread : serving_) thread.join();
    for (const int one : connections_) close(one);
    close(socket_);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  [[nodiscard]] const std::string& url() const { return url_; }
  [[nodiscard]] int requests() const { return requests_.load(); }

 private:
  void serve(int one) {
    std::string text;
    std::array<char, 4096> some{};
    while (true) {
      const std::size_t end = text.find("\r\n\r\n");
      if (end == std::string::npos) {
        const ssize_t got = recv(one, some.data(), some.size(), 0);
        if (got <= 0) return;
        text.append(some.data(), static_cast<std::size_t>(got));
        continue;
      }
      if (fault_(requests_.fetch_add(1))) {
        shutdown(one, SHUT_RDWR);
        return;
      }
      answer(one, text.substr(0, end));
      text.erase(0, end + 4);
    }
  }
  static void answer(int one, const std::string& head) {
    std::int64_t first = 0, last = size - 1;
    const std::size_t range = head.find("Range: bytes=");
    if (range != std::string::npos) {
      const char* const begin = head.data() + range + 13;
      const auto dash = std::from_chars(begin, head.data() + head.size(), first).ptr;
      std::from_chars(dash + 1, head.data() + head.size(), last);
    }
    std::string out = range == std::string::npos
                          ? "HTTP/1.1 200 OK\r\n"
                          : "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes " + std::to_string(first) + "-" +
                                std::to_string(last) + "/" + std::to_string(size) + "\r\n";
    out += "ETag: \"1\"\r\nContent-Length: " + std::to_string(last - first + 1) + "\r\n\r\n";
    if (!head.starts_with("HEAD"))
      for (std::int64_t at = first; at <= last; ++at) out += static_cast<char>(byte_of(at));
    for (std::size_t sent = 0; sent < out.size();) {
      const ssize_t count = send(one, out.data() + sent, out.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) return;
      sent += static_cast<std::size_t>(count);
    }
  }

  const std::function<bool(int)> fault_;
  const int socket_;
  std::string url_;
  std::atomic<int> requests_{0};
  std::mutex mutex_;
  std::list<int> connections_;
  std::list<std::thread> serving_;
  std::thread accepting_;
};

/// All answers to `count` reads of 4,000 bytes each, from several threads.
class Reads {
 public:
  Reads(FileSystem& system, std::string url, FileVersion version, int count)
      : system_{system},
        url_{std::move(url)},
        version_{version},
        left_{count},
        counts_(static_cast<std::size_t>(count)) {
    for (auto& memory : memories_) memory = std::make_shared<std::vector<std::byte>>(0);
    memories_.resize(static_cast<std::size_t>(count));
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread)
      threads.emplace_back([&, thread] {
        for (int i = thread; i < count; i += 4) ask(static_cast<std::size_t>(i));
      });
    for (std::thread& thread : threads) thread.join();
  }
  void forget() { wanted_.reset(); }
  void wait() {
    std::unique_lock lock{mutex_};
    over_.wait(lock, [&] { return left_ == 0; });
  }
  [[nodiscard]] int failed() const { return failed_; }
  [[nodiscard]] int wrong() const {
    int out = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i)
      for (std::size_t at = 0; at < counts_[i]; ++at)
        if ((*memories_[i])[at] != byte_of(offset_of(i) + static_cast<std::int64_t>(at))) ++out;
    return out;
  }

 private:
  static std::int64_t offset_of(std::size_t i) { return static_cast<std::int64_t>(i) * 977 % (size - 4000); }
  void ask(std::size_t i) {
    memories_[i] = std::make_shared<std::vector<std::byte>>(4000);
    system_.read({.path = url_,
                  .version = version_,
                  .offset = offset_of(i),
                  .out = *memories_[i],
                  .memory = {memories_[i], memories_[i]->data()},
                  .wanted = wanted_},
                 [this, i](const Result<std::size_t>& got) {
                   const std::lock_guard lock{mutex_};
                   if (got.ok()) counts_[i] = *got;
                   if (!got.ok()) ++failed_;
                   --left_;
                   over_.notify_all();
                 });
  }

  FileSystem& system_;
  const std::string url_;
  const FileVersion version_;
  std::shared_ptr<const void> wanted_ = std::make_shared<int>();
  std::mutex mutex_;
  std::condition_variable over_;
  int left_, failed_ = 0;
  std::vector<std::size_t> counts_;
  std::vector<std::shared_ptr<std::vector<std::byte>>> memories_;
};

FileVersion found(FileSystem& system, const std::string& url) {
  std::mutex mutex;
  std::condition_variable over;
  std::optional<FileVersion> out;
  system.find(url, [&](const Result<FileVersion>& version) {
    const std::lock_guard lock{mutex};
    EXPECT_TRUE(version.ok()) << version.error().text();
    out = version.ok() ? *version : FileVersion{};
    over.notify_all();
  });
  std::unique_lock lock{mutex};
  over.wait(lock, [&] { return out.has_value(); });
  return *out;
}

std::shared_ptr<FileSystem> files() {
  auto made = http_files();
  EXPECT_TRUE(made.ok()) << made.error().text();
  return *made;
}

TEST(HttpFiles, GiveTheBytesThatWereAskedForWhateverBreaks) {
  for (const int broken : {0, 3, 7}) {
    const Server server{[=](int number) { return broken > 0 && number % broken == 1; }};
    const auto system = files();
    const FileVersion version = found(*system, server.url());
    EXPECT_EQ(version.size, size);
    Reads reads{*system, server.url(), version, 200};
    reads.wait();
    EXPECT_EQ(reads.failed(), 0);
    EXPECT_EQ(reads.wrong(), 0);
  }
}

TEST(HttpFiles, DropWhatNobodyWants) {
  std::atomic<bool> over{false};
  {
    const Server server{[&](int number) {
      while (number > 0 && !over.load()) std::this_thread::yield();
      return number > 0;
    }};
    const auto system = files();
    Reads reads{*system, server.url(), found(*system, server.url()), 40};
    reads.forget();
    reads.wait();
    EXPECT_EQ(reads.failed(), 40);
    EXPECT_LE(server.requests(), 17) << "no more than began at once";
    over = true;
  }
}

TEST(HttpFiles, SayWhatIsNoAddress) {
  const auto system = files();
  for (const char* const path : {"http://", "http://[::1/x", "http://h:99999/x"}) {
    std::string text;
    system->find(path, [&](const Result<FileVersion>& version) { text = version.ok() ? "" : version.error().text(); });
    EXPECT_NE(text.find("is no address"), std::string::npos) << path << ": " << text;
  }
}

}  // namespace
}  // namespace forebay
